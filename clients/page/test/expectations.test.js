import assert from "node:assert/strict";
import { test } from "node:test";

import { expectErrors, logarithm, plainly, reportsFor } from "../../../src/ldpsql/server/page/expectations.js";

test("errors grow with the root of the number of reports, and shares shrink with it", () => {
  const kinds = [{ text: "age range", limit: "people", half_width: 500, share: 0.05 }];
  assert.deepEqual(expectErrors(kinds, 10_000, 40_000), [{ text: "age range", limit: "people", halfWidth: 1000, share: 0.025 }]);
  assert.deepEqual(expectErrors(kinds, 10_000, 10_000)[0].share, 0.05);
});

test("a precision takes so many reports, of three digits, rounded up", () => {
  assert.equal(reportsFor(0.05, 10_000, 0.05), 10_000);
  assert.equal(reportsFor(0.05, 10_000, 0.01), 250_000);
  assert.equal(reportsFor(0.05, 10_000, 0.03), 27_800);
  assert.equal(reportsFor(1, 1, 5), 1);
  assert.equal(reportsFor(0.1, 10, 0.02), 250);
  assert.equal(reportsFor(0.1, 10, 0.0999), 11);
});

test("the logarithm of odds is rounded up, and never beyond an epsilon that they keep", () => {
  assert.equal(logarithm([1n, 0n]), "unbounded");
  assert.equal(logarithm([1n, 1n]), "0");
  // e, from below and from above.
  assert.equal(logarithm([271828182845904523n, 10n ** 17n]), "1");
  assert.equal(logarithm([27183n, 10n ** 4n]), "1.000007");
  assert.equal(logarithm([48516n * 10n ** 34n, 10n ** 30n]), "19.99999");
});

test("kinds of questions are told in plain words", () => {
  assert.equal(plainly("age range"), "people with a range of age");
  assert.equal(plainly("age range x state ="), "people with a range of age and a value of state");
  assert.equal(plainly("SUM(spent) by day prefix"), "sum of spent of people with day up to a value");
  assert.equal(plainly("SUM(spent)"), "sum of spent");
  assert.equal(plainly("COUNT, 1 predicate"), "people, 1 condition");
  assert.equal(plainly("SUM(spent), 2 predicates"), "sum of spent, 2 conditions");
  assert.equal(plainly("query 2: SUM(pay), squares"), "query 2: SUM(pay), squares");
  assert.equal(plainly("everybody"), "everybody");
});
