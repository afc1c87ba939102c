import assert from "node:assert/strict";
import { test } from "node:test";

import { quoteName, quoteValue, writeCondition, writeKey, writeQuestion, writeTimelines } from "../../../src/ldpsql/server/page/builder.js";
import { readSurvey } from "../../../src/ldpsql/server/page/surveys.js";

const schema = {
  dimension: [
    { name: "age", type: "int", domain: [18, 90], label: "Age" },
    { name: "city", type: "category", values: ["Berlin", "O'Fallon", "<b>"], outside: "other", missing: "code" },
    { name: "code", type: "category", values: [1, 2, 300] },
    { name: "member", type: "bool" },
    { name: "joined", type: "date", range: ["2026-01-01", "2026-03-31"], unit: "week" },
    { name: "score", type: "float", edges: ["0.5", "1", "2.5"] },
    { name: "order", type: "int", domain: [0, 9] },
    { name: "pay", type: "int", domain: [0, 9] },
  ],
  measure: [{ name: "spent", bounds: ["0", "100"] }, { name: "pay", bounds: ["0", "9"] }],
  public: [{ name: "version", type: "text" }, { name: "build", type: "int" }],
};
const survey = readSurvey({ table: "app", text: JSON.stringify({ survey: { label: "App", schema } }) });
const column = Object.fromEntries(survey.columns.map((each) => [each.name, each]));
const ask = (measure, more = {}) => writeQuestion({ table: "app", measure, ...more });

test("columns say what values they have", () => {
  assert.deepEqual(survey.columns.map(({ name }) => name), ["age", "city", "code", "member", "joined", "score", "order", "pay", "spent", "version", "build"]);
  assert.deepEqual([column.age.low, column.age.high, column.age.hasBins, column.joined.hasBins], ["18", "90", false, true]);
  assert.deepEqual(column.city.values, ["Berlin", "O'Fallon", "<b>", "(other)"]);
  assert.deepEqual([column.score.low, column.score.high], ["0.5", "2.5"]);
  assert.equal(column.pay.isMeasure, true);
  assert.equal("low" in column.spent, false);
});

test("names and values are quoted", () => {
  assert.equal(quoteName("age"), "age");
  assert.equal(quoteName("order"), '"order"');
  assert.equal(quoteName('a"; DROP'), '"a""; DROP"');
  assert.equal(quoteValue(column.city, "O'Fallon'); --"), "'O''Fallon''); --'");
  assert.equal(quoteValue(column.code, 300), "300");
  assert.equal(quoteValue(column.joined, "2026-01-05"), "DATE '2026-01-05'");
});

test("conditions", () => {
  const write = (name, more) => writeCondition({ column: column[name], ...more });
  assert.equal(write("age", { from: "20", to: " 30" }), "age BETWEEN 20 AND 30");
  assert.equal(write("age", { from: "-1.5e3" }), "age >= -1.5e3");
  assert.equal(write("age", { to: "30" }), "age <= 30");
  assert.equal(write("age", {}), "");
  assert.equal(write("city", { values: ["<b>"] }), "city = '<b>'");
  assert.equal(write("city", { values: ["Berlin", "O'Fallon"] }), "city IN ('Berlin', 'O''Fallon')");
  assert.equal(write("city", { values: column.city.values }), "");
  assert.equal(write("member", { values: [true] }), "member");
  assert.equal(write("member", { values: [false] }), "NOT member");
  assert.equal(write("joined", { from: "2026-01-05", to: "2026-02-01" }), "joined BETWEEN DATE '2026-01-05' AND DATE '2026-02-01'");
  assert.equal(write("version", { text: "1.2' OR 1=1" }), "version = '1.2'' OR 1=1'");
  assert.equal(write("build", { text: "12" }), "build = 12");
  for (const [name, from] of [["age", "1 OR 1=1"], ["age", "Infinity"], ["age", "0x10"], ["joined", "yesterday"], ["joined", "2026-01-01'"]]) {
    assert.throws(() => write(name, { from }), TypeError);
  }
  assert.equal(write("code", { values: ["2 "] }), "code = 2");
  assert.throws(() => write("code", { values: ["2 OR 1=1"] }), TypeError);
});

test("keys", () => {
  assert.equal(writeKey({ column: column.age, step: "10" }), "bin(age, 10)");
  assert.equal(writeKey({ column: column.joined, step: "month" }), "date_trunc('month', joined)");
  for (const [name, step] of [["age", "0"], ["age", "1) --"], ["joined", "x'"]]) assert.throws(() => writeKey({ column: column[name], step }), TypeError);
});

test("questions", () => {
  assert.equal(ask("count"), "SELECT COUNT(*)\nFROM app");
  assert.equal(
    ask("average", { column: column.spent, conditions: [{ column: column.age, from: "20" }, { column: column.member, values: [true] }], keys: [{ column: column.city }, { column: column.age, step: "10" }] }),
    "SELECT city, bin(age, 10) AS age_10, AVG(spent)\nFROM app\nWHERE age >= 20\n  AND member\nGROUP BY city, bin(age, 10)\nORDER BY 1, 2",
  );
  assert.equal(ask("share", { conditions: [{ column: column.age, from: "20" }, { column: column.member, values: [true] }] }), "SELECT AVG((age >= 20) AND (member)) AS share\nFROM app");
  assert.equal(ask("share", { keys: [{ column: column.order }] }), 'SELECT "order", COUNT(*) / SUM(COUNT(*)) OVER () AS share\nFROM app\nGROUP BY "order"\nORDER BY 1');
});

test("surveys with periods have usual questions, and others none", () => {
  assert.deepEqual(writeTimelines(survey), []);
  const weekly = { survey: { period: "week", schema: { ...schema, public: [{ name: "period", type: "date" }, ...schema.public] } } };
  const asked = Object.fromEntries(writeTimelines(readSurvey({ table: "app", text: JSON.stringify(weekly) })).map(({ label, sql }) => [label, sql.replaceAll("\n", " ")]));
  assert.deepEqual(Object.keys(asked), ["Who answered", "age", "city", "code", "member", "score", "order", "pay", "spent", "version"]);
  assert.equal(asked["Who answered"], "SELECT period, COUNT(*) FROM app GROUP BY period ORDER BY period");
  assert.equal(asked.city, "SELECT period, city, COUNT(*) FROM app GROUP BY period, city ORDER BY period, city");
  assert.equal(asked.member, "SELECT period, AVG(member) AS share FROM app GROUP BY period ORDER BY period");
  assert.equal(asked.order, 'SELECT period, QUANTILE_CONT("order", [0.5, 0.95]) FROM app GROUP BY period ORDER BY period');
  assert.equal(asked.spent, "SELECT period, AVG(spent) FROM app GROUP BY period ORDER BY period");
});
