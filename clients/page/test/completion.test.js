import assert from "node:assert/strict";
import { test } from "node:test";

import { complete } from "../../../src/ldpsql/server/page/completion.js";
import { readLookup } from "../../../src/ldpsql/server/page/surveys.js";
import { addToHistory, clearHistory, readHistory } from "../../../src/ldpsql/server/page/history.js";

const tables = [
  { table: "app", columns: [{ name: "age", kind: "number", detail: "18 to 90" }, { name: "city", kind: "choice", isText: true, values: ["Berlin", "O'Fallon"], detail: "2 values" }] },
  { table: "shop", columns: [{ name: "hour", kind: "number", detail: "0 to 23" }] },
  readLookup({ name: "regions", columns: ["city", "region"] }),
];
const labels = (before, after = "", wanted = false) => complete(before, after, tables, wanted)?.options.map(({ label }) => label);

test("columns of the table that is named, tables, functions, keywords", () => {
  const found = labels("SELECT a", " FROM app");
  for (const each of ["age", "city", "app", "AVG", "WHERE"]) assert.ok(found.includes(each), each);
  assert.ok(!found.includes("hour"));
  assert.ok(labels("SELECT h").includes("hour"));
  assert.ok(labels("SELECT r", " FROM app JOIN regions USING (city)").includes("region"));
  assert.ok(!labels("SELECT r", " FROM app").includes("region"));
  assert.equal(complete("SELECT a", "", tables).from, 7);
});

test("values behind their column", () => {
  for (const before of ["SELECT 1 FROM app WHERE city = ", "FROM app WHERE city IN ('Berlin', 'O''", "FROM app WHERE city <> 'B", 'FROM app WHERE "city" = ']) {
    assert.deepEqual(labels(before), ["'Berlin'", "'O''Fallon'"], before);
  }
  const ends = (before, after) => { const { from, to } = complete(before, after, tables); return [from, to]; };
  assert.deepEqual(ends("WHERE city = 'B", ""), [13, 15]);
  assert.deepEqual(ends("WHERE city = 'B", "' AND"), [13, 16]);
});

test("nothing within a text, nor before a letter unless it is asked for", () => {
  assert.equal(complete("SELECT 'abc d", "", tables), null);
  assert.equal(complete("SELECT ", "", tables), null);
  assert.ok(labels("SELECT ", "", true).length > 20);
});

test("the history keeps the last questions, each once", () => {
  const kept = new Map(), storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) };
  for (const sql of ["a", "b", "a"]) addToHistory(sql, storage);
  assert.deepEqual(readHistory(storage), ["a", "b"]);
  for (let i = 0; i < 200; i++) addToHistory(`${i}`, storage);
  assert.equal(readHistory(storage).length, 100);
  kept.set("ldpsql.history", '{"a":1}');
  assert.deepEqual(readHistory(storage), []);
  kept.set("ldpsql.history", "[1");
  assert.deepEqual(readHistory(storage), []);
  clearHistory(storage);
  assert.equal(kept.size, 0);
  const full = { getItem: () => null, setItem: () => { throw new Error("full"); } };
  assert.deepEqual(addToHistory("a", full), ["a"]);
});
