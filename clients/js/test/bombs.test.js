// Small texts that would cost much: a survey of any author costs two seconds of the processor and 512 MB, or is refused.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Survey } from "../src/index.js";
import { vectors } from "../support/vectors.js";

const SECONDS = 2, MEGABYTES = 512;
const [{ survey: data }] = vectors("recipe_fourier").surveys;

const bombs = {
  numbers: () => `[${"1,".repeat(7_000_000)}1]`,
  texts: () => `[${'"9",'.repeat(3_500_000)}"9"]`,
  "a text": () => `"${"9".repeat(15_000_000)}"`,
  arrays: () => `[${"[1],".repeat(260_000)}[1]]`,
  objects: () => `[${'{"a":1},'.repeat(260_000)}{}]`,
  keys: () => `{${Array.from({ length: 1_000_000 }, (_, number) => `"k${number}":1`).join()}}`,
  "one key": () => `{${'"k":1,'.repeat(2_000_000)}"k":1}`,
  "a number": () => "9".repeat(15_000_000),
  "a fraction": () => `0.${"9".repeat(15_000_000)}`,
  "a power": () => '"1e999999999"',
  powers: () => `[${'"1e999999999",'.repeat(200_000)}"1e999999999"]`,
  escapes: () => `"${"\\u0041".repeat(2_500_000)}"`,
  depth: () => "[".repeat(1_000_000),
  "closed depth": () => "[".repeat(500_000) + "]".repeat(500_000),
  "depth of objects": () => `${'{"a":'.repeat(300_000)}1${"}".repeat(300_000)}`,
  space: () => `${" ".repeat(15_000_000)}1`,
};

const category = (count) => ({ name: "c", type: "category", values: Array.from({ length: count }, (_, number) => `v${number}`) });

/** Schemas with many columns, or columns of many codes. */
const schemas = {
  "thousand columns": () => columns(1_000),
  "many columns": () => columns(100_000),
  values: () => [category(500_000)],
  "whole numbers": () => [{ name: "c", type: "int", domain: [0, 2 ** 20 - 1] }],
  "too many whole numbers": () => [{ name: "c", type: "int", domain: [0, 2 ** 52] }],
  edges: () => [{ name: "c", type: "int", edges: Array.from({ length: 500_000 }, (_, number) => number) }],
  bins: () => [{ name: "c", type: "float", domain: ["0", "1"], bins: 1_000_000 }],
  days: () => Array.from({ length: 1_000 }, (_, number) => ({ name: `c${number}`, type: "date", range: ["0001-01-01", "9998-12-31"], unit: "day" })),
  hours: () => Array.from({ length: 9 }, (_, number) => ({ name: `c${number}`, type: "timestamp", range: ["0001-01-01", "9998-12-31"], unit: "hour" })),
};

function columns(count) {
  return Array.from({ length: count }, (_, number) => ({ name: `c${number}`, type: "int", domain: [0, 6] }));
}

/** The ways to all values in JSON data, of the entries of an array the first. */
function* places(value, at = []) {
  if (at.length) yield at;
  if (value === null || typeof value !== "object") return;
  for (const [key, entry] of Object.entries(Array.isArray(value) ? value.slice(0, 1) : value)) yield* places(entry, [...at, key]);
}

/** JSON text with another content at a place. */
function replaced(value, at, content) {
  const mark = "the place";
  const copy = (own, [key, ...rest]) => Object.assign(Array.isArray(own) ? [...own] : { ...own }, { [key]: rest.length ? copy(own[key], rest) : mark });
  return JSON.stringify(copy(value, at)).replace(`"${mark}"`, () => content);
}

function* texts(name) {
  if (name in schemas) {
    const dimension = schemas[name](), sizes = dimension.map(() => 7);
    yield JSON.stringify({ ...data, schema: { ...data.schema, dimension } });
    yield JSON.stringify({ ...data, schema: { ...data.schema, dimension }, plan: { ...data.plan, sizes } });
    return;
  }
  const content = bombs[name](), ways = [...places(data)], start = Object.keys(bombs).indexOf(name);
  // Some places of each, other ones each time.
  for (let at = start; at < ways.length; at += 17) yield replaced(data, ways[at], content);
  yield content;
}

if (process.send) {
  // What a process of its own does: it tells of every text what it cost.
  process.on("message", (name) => {
    const results = [];
    for (const text of texts(name)) {
      const before = process.resourceUsage().maxRSS, began = process.cpuUsage();
      let said = "read";
      try {
        new Survey(text);
      } catch (error) {
        said = `${error.name}: ${error.message}`;
      }
      const { user, system } = process.cpuUsage(began);
      results.push({ seconds: (user + system) / 1e6, megabytes: (process.resourceUsage().maxRSS - before) / 1024, said });
    }
    process.send(results, () => process.disconnect());
  });
} else {
  for (const name of Object.keys({ ...bombs, ...schemas })) {
    test(`a survey with ${name} costs little`, async () => {
      const reader = fork(fileURLToPath(import.meta.url), { execArgv: [] });
      const results = await new Promise((resolve, reject) => {
        reader.once("message", resolve).once("exit", (code, signal) => reject(new Error(`the reader ended with ${code ?? signal}`)));
        reader.send(name);
      });
      assert.ok(results.length >= 2);
      for (const { seconds, megabytes, said } of results) {
        assert.ok(said === "read" || /^LdpsqlError: [^\n]{1,500}$/.test(said), said.slice(0, 500));
        assert.ok(seconds <= SECONDS, `${seconds} s: ${said.slice(0, 200)}`);
        assert.ok(megabytes <= MEGABYTES, `${megabytes} MB: ${said.slice(0, 200)}`);
      }
    });
  }
}
