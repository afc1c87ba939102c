import assert from "node:assert/strict";
import { test } from "node:test";

import { describePicture, readPicture } from "../../../src/ldpsql/server/page/chart.js";

/** An answer: columns as name:type, with ! behind estimates; an estimate is weak below 2. */
function answerOf(heads, rows) {
  const columns = heads.map((head) => ({ name: head.split(":")[0], type: head.split(":")[1].replace("!", "") })), intervals = {};
  heads.forEach((head, i) => {
    if (head.endsWith("!")) intervals[i] = { stderr: rows.map(() => 1), low: rows.map((row) => row[i] - 2), high: rows.map((row) => row[i] + 2) };
  });
  const texts = rows.map((row) => row.map((value, i) => `${value ?? "NULL"}${i in intervals ? (value < 2 ? " ~" : "  ") : ""}`));
  return { columns, rows, intervals, texts };
}

const range = (count) => Array.from({ length: count }, (_, i) => i);
const kinds = (heads, rows) => readPicture(answerOf(heads, rows)).kinds;

test("a key of texts makes bars, with ends and weak values", () => {
  const picture = readPicture(answerOf(["city:string", "n:double!"], [["Berlin", 9], ["<b>", 1], [null, 3]]));
  assert.deepEqual(picture.kinds, ["bars", "points"]);
  const [{ title, points }] = picture.panels;
  assert.equal(title, "n");
  assert.deepEqual(points.map(({ x, value, low, high, isWeak }) => [x, value, low, high, isWeak]), [["Berlin", 9, 7, 11, false], ["<b>", 1, -1, 3, true], ["NULL", 3, 1, 5, false]]);
});

test("a key with an order makes lines once there are many values", () => {
  assert.deepEqual(kinds(["age:int64", "n:double!"], range(20).map((i) => [i, 5])), ["lines", "bars", "points"]);
  assert.deepEqual(kinds(["age:int64", "n:double!"], range(5).map((i) => [i, 5])), ["bars", "points", "lines"]);
  assert.deepEqual(kinds(["day:date32[day]", "n:double!"], range(400).map((i) => [`d${i}`, 5])), ["lines", "points"]);
});

test("a key of codes makes bars, however many there are, and is no axis of numbers", () => {
  const answer = answerOf(["payment:int64", "n:double!"], [...range(20).map((i) => [i, 5]), [null, 5]]);
  answer.columns[0].coded = true;
  const { kinds, x, panels } = readPicture(answer);
  assert.deepEqual([kinds, x.type, panels[0].points.at(-1).x], [["bars", "points"], "kind", "NULL"]);
});

test("a panel for each number", () => {
  const picture = readPicture(answerOf(["a:bool", "n:double!", "m:double!"], [[true, 5, 6], [false, 7, 8]]));
  assert.deepEqual(picture.panels.map(({ title, points }) => [title, points.map(({ value }) => value)]), [["n", [5, 7]], ["m", [6, 8]]]);
});

test("two keys make a heat map, along the one with an order", () => {
  const picture = readPicture(answerOf(["city:string", "age:int64", "n:double!"], ["a", "b", "c"].flatMap((city) => [1, 2].map((age) => [city, age, 5]))));
  assert.deepEqual(picture.kinds, ["heat map", "bars", "points", "lines"]);
  assert.deepEqual([picture.x.name, picture.y.name], ["age", "city"]);
  const many = range(20).flatMap((i) => range(30).map((j) => [i, j, 5]));
  assert.deepEqual(kinds(["i:int64", "j:int64", "n:double!"], many), ["heat map"]);
});

test("quantiles make bands", () => {
  const heads = ["age:int64", "q[1]:double!", "q[2]:double!", "q[3]:double!"];
  const picture = readPicture(answerOf(heads, range(10).map((i) => [i, 2, 3, 4])));
  assert.deepEqual([picture.kinds, picture.set], [["bands", "points"], 3]);
  assert.deepEqual(picture.panels[0].points.filter(({ x }) => x === 0).map(({ q, value }) => [q, value]), [[1, 2], [2, 3], [3, 4]]);
  assert.deepEqual(kinds(heads.slice(1), [[2, 3, 4]]), ["points"]);
});

test("what has no picture says why", () => {
  const reason = (heads, rows) => readPicture(answerOf(heads, rows)).reason;
  assert.match(reason(["n:double!"], [[1]]), /by itself/);
  assert.match(reason(["a:string", "b:int64"], [["x", 1]]), /no column is an estimate/);
  assert.match(reason(["a:string", "b:string", "c:string", "n:double!"], [["x", "y", "z", 1]]), /three keys/);
  assert.match(reason(["a:string", "n:double!"], []), /no row/);
  assert.match(reason(["a:int64", "n:double!"], range(6000).map((i) => [i, 1])), /5000 rows/);
  assert.match(reason(["a:string", "n:double!"], range(300).map((i) => [`${i}`, 1])), /200 values/);
});

test("a picture is said in words", () => {
  assert.match(describePicture(readPicture(answerOf(["city:string", "n:double!"], [["a", 1]])), "bars"), /^Bars of n by city/);
});
