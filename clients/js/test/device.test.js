import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { Collector, Ledger, MemoryStore, Policy, Survey, TextStore, describe, respond } from "../src/index.js";
import { checksum } from "../src/ledger.js";
import { decimalText } from "../src/rational.js";
import { readSchema } from "../src/schema.js";
import { hashText } from "../src/sha256.js";
import { vectors, verify } from "../support/vectors.js";

const [{ survey: data }] = vectors("recipe_fourier").surveys;
const survey = new Survey(JSON.stringify(data));
const policy = new Policy({ maxEpsilon: "20", public: survey.recordColumns.map(({ name }) => name) });
const signed = vectors("surveys").map(({ survey: each }) => new Survey(JSON.stringify(each)));
const day = "2026-05-01";

const refusedAs = (kind, pattern) => (error) => error.kind === kind && (!pattern || pattern.test(error.message));
const budgets = { total: 20, perAttribute: 20 };

test("the same survey gets the same report, and another person another one", async () => {
  const ledger = new Ledger(new MemoryStore(), budgets);
  const first = await respond(survey, { age: 20 }, { policy, ledger, day });
  assert.equal(await respond(survey, { age: 23 }, { policy, ledger, day }), first);
  survey.checkReport(first);
  assert.notEqual(await respond(survey, { age: 20 }, { policy, day }), first);
});

test("reports are not sent after the replay window", async () => {
  const ledger = new Ledger(new MemoryStore(), budgets);
  await respond(survey, {}, { policy, ledger, day });
  assert.equal((await ledger.pending(survey.lastSendingDay(day))).length, 1);
  assert.equal((await ledger.pending("2027-01-01")).length, 0);
  await assert.rejects(respond(survey, {}, { policy, ledger, day: "2027-01-01" }), refusedAs("not allowed"));
});

test("a clock that is set back opens nothing", async () => {
  const ledger = new Ledger(new MemoryStore(), budgets), ended = signed.find(({ validity }) => validity.until);
  await assert.rejects(respond(survey, {}, { policy: new Policy({ maxEpsilon: 0 }), ledger, day }), refusedAs("not allowed"));
  await respond(survey, {}, { policy, ledger, day: "2999-01-01" });
  const open = new Policy({ maxEpsilon: 20, public: ended.recordColumns.map(({ name }) => name) });
  await assert.rejects(respond(ended, {}, { policy: open, ledger, day: ended.validity.until, verify }), refusedAs("not allowed"));
});

test("a clock that is ahead by years is not believed", async () => {
  for (const [longestAbsence, isBelieved] of [[undefined, false], [400_000, true]]) {
    const ledger = new Ledger(new MemoryStore(), { ...budgets, longestAbsence });
    const first = await respond(survey, {}, { policy, ledger, day });
    await assert.rejects(respond(survey, {}, { policy, ledger, day: "2999-01-01" }), refusedAs("not allowed", isBelieved ? /so long ago/ : /the clock says 2999-01-01/));
    // Afterwards the clock is right again.
    const again = respond(survey, {}, { policy, ledger, day });
    await (isBelieved ? assert.rejects(again, refusedAs("not allowed")) : again.then((line) => assert.equal(line, first)));
  }
  for (const longestAbsence of [0, 1.5, "9", null]) assert.throws(() => new Ledger(new MemoryStore(), { ...budgets, longestAbsence }), /longestAbsence/);
});

test("a survey that asks in one of thirteen weeks is answered in four of a year, by versions alike", async () => {
  const { signature, author, ...plain } = vectors("surveys").find(({ survey: { sample } }) => sample === 13).survey;
  const versions = [1, 2].map((number) => new Survey(JSON.stringify({ ...plain, validity: { from: "2026-01-05" }, replay_window: number })));
  const open = new Policy({ maxEpsilon: 20, public: versions[0].recordColumns.map(({ name }) => name) }), offsets = new Set();
  await assert.rejects(respond(versions[0], {}, { policy: open, day: "2026-02-02" }), refusedAs("not allowed", /a ledger keeps/));
  for (let person = 0; person < 20; person++) {
    const ledger = new Ledger(new MemoryStore(), budgets), weeks = [];
    for (let week = 0; week < 52; week++) {
      const on = new Date(Date.parse("2026-01-05") + week * 7 * 864e5 + 2 * 864e5).toISOString().slice(0, 10);
      // The second half of the year asks a later version.
      await respond(versions[Number(week >= 26)], {}, { policy: open, ledger, day: on }).then(() => weeks.push(week), (error) => assert.match(error.message, /asks this device in one of 13 weeks, and not in this one/));
    }
    assert.deepEqual(weeks, [0, 13, 26, 39].map((start) => start + weeks[0]));
    offsets.add(weeks[0]);
  }
  assert.ok(offsets.size > 4);
});

test("one round of a survey is answered, and none that somebody else signed", async () => {
  const promise = { epsilon: [1n, 1n], delta: [0n, 1n] }, schema = { names: new Set() };
  const round = (fingerprint, author, first) => ({
    table: "app", fingerprint, author, first, chain: `${author ?? ""}:${first ?? fingerprint}`, promise, schema, recordColumns: [],
    isOpen: () => true, periodOf: () => undefined, lastSendingDay: (drawn) => drawn,
  });
  for (const author of [undefined, "somebody"]) {
    const ledger = new Ledger(new MemoryStore(), budgets), answer = (each) => ledger.answer(each, day, null, () => each.fingerprint, (bytes) => bytes.fill(1));
    assert.equal(await answer(round("forged", "other", "first")), "forged");
    assert.equal(await answer(round("first", author)), "first");
    for (const again of [round("second", author, "first"), round("third", "third", "first")]) await assert.rejects(answer(again), refusedAs("not allowed", /round/));
  }
});

test("budgets are kept, for one attribute and in all", async () => {
  // Two about the same attribute, at epsilon 1.
  const others = ["recipe_hio", "recipe_hh"].map((name) => new Survey(JSON.stringify(vectors(name).surveys[0].survey)));
  for (const limits of [{ total: "1.5", perAttribute: 9 }, { total: 9, perAttribute: "1.5" }]) {
    const ledger = new Ledger(new MemoryStore(), limits);
    const results = await Promise.allSettled(others.map((other) => respond(other, {}, { policy: new Policy({ maxEpsilon: 20, public: other.recordColumns.map(({ name }) => name) }), ledger, day })));
    assert.ok(results.some(({ status }) => status === "rejected"));
    for (const { status, reason } of results) if (status === "rejected") assert.equal(reason.kind, "budget spent");
  }
});

test("a policy refuses for what a survey says", async () => {
  const [one] = signed.filter(({ author }) => author), open = one.recordColumns.map(({ name }) => name);
  const within = one.validity.from ?? one.validity.until ?? day;
  const cases = [
    [{ maxEpsilon: 0 }, /epsilon/], [{ maxEpsilon: 20, public: [] }, open.length ? /in clear/ : /./], [{ maxEpsilon: 20, tables: ["x"] }, /among the tables/],
    [{ maxEpsilon: 20, authors: [] }, /among the authors/], [{ maxEpsilon: 20, fingerprints: [] }, /among the fingerprints/],
  ];
  for (const [limits, pattern] of cases) {
    if (limits.public?.length === 0 && !open.length) continue;
    const strict = new Policy({ public: open, ...limits });
    await assert.rejects(respond(one, {}, { policy: strict, day: within, verify }), refusedAs("not allowed", pattern));
  }
  const trusting = new Policy({ maxEpsilon: 20, public: open, authors: [one.author] });
  await respond(one, {}, { policy: trusting, day: within, verify });
  await assert.rejects(respond(one, {}, { policy: trusting, day: within }), refusedAs("not allowed", /signature/));
  await assert.rejects(respond(one, {}, { policy: trusting, day: within, verify: () => false }), refusedAs("not allowed", /signature/));
});

test("whatever a record holds is answered", async () => {
  const strange = [null, undefined, 5, "x", [], { age: Symbol("x") }, { age: () => 1 }, { get age() { throw new Error("secret"); } }, { age: 10n ** 400n }, { age: NaN }, Object.create({ age: 5 })];
  for (const record of strange) survey.checkReport(await respond(survey, record, { policy, day }));
});

test("without the system's randomness nothing is drawn", async () => {
  const { crypto } = globalThis;
  Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
  try {
    await assert.rejects(respond(survey, {}, { policy, day }), refusedAs("random"));
  } finally {
    Object.defineProperty(globalThis, "crypto", { value: crypto, configurable: true });
  }
  const zeros = await respond(survey, {}, { policy, day, random: (bytes) => bytes.fill(0) });
  assert.match(zeros, /"id":"0{32}"/);
});

test("nothing is drawn by Math.random", () => {
  const folder = new URL("../src/", import.meta.url);
  for (const name of readdirSync(folder)) assert.ok(!readFileSync(new URL(name, folder), "utf8").includes("Math.random"), name);
});

test("a report is sent until it is acknowledged", async () => {
  const ledger = new Ledger(new MemoryStore(), budgets), sent = [];
  let status = 503;
  const fetch = async (url, { body, method }) => {
    if (!method) {
      const text = url.endsWith("/tables/app") ? JSON.stringify({ fingerprint: survey.fingerprint }) : JSON.stringify(data);
      return new Response(text);
    }
    if (status === 0) throw new TypeError("offline");
    sent.push([url, body]);
    return new Response(null, { status });
  };
  const collector = new Collector("http://localhost/", { fetch });
  const found = await collector.survey("app"), line = await respond(found, {}, { policy, ledger, day });
  for (status of [503, 0]) assert.deepEqual(await collector.send(ledger, day), { settled: 0, refused: 0, waiting: 1 });
  status = 200;
  assert.deepEqual(await collector.send(ledger, day), { settled: 1, refused: 0, waiting: 0 });
  assert.deepEqual(await collector.send(ledger, day), { settled: 0, refused: 0, waiting: 0 });
  assert.deepEqual(sent.at(-1), [`http://localhost/v1/surveys/${survey.fingerprint}/reports`, `${line}\n`]);
  for (const text of ["", "null", "{}", '{"fingerprint":"../x"}', JSON.stringify({ fingerprint: "0".repeat(64) })]) {
    await assert.rejects(new Collector("http://localhost", { fetch: async () => new Response(text) }).survey("app"), refusedAs("survey"));
  }
});

test("the README's function checks signatures", async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [code] = readme.match(/const bytes = [^]*?\n}\n/);
  const check = new Function(`${code} return verify;`)();
  const [each] = signed.filter(({ author }) => author);
  assert.match(await describe(each, { verify: check }), /: the owner of the key/);
  const broken = async (author, signature, text) => check(author, signature, `${text} `);
  await assert.rejects(describe(each, { verify: broken }), refusedAs("survey", /signature/));
});

test("a survey is described without what its author could forge", async () => {
  const text = await describe(survey);
  assert.match(text, /a belief of 50 % about your answers can rise to \d+ % at most/);
  assert.match(text, /Not covered: that you took part/);
  for (const each of signed.filter(({ author }) => author)) {
    assert.match(await describe(each), /allegedly the owner of the key/);
    assert.match(await describe(each, { verify }), /: the owner of the key/);
    await assert.rejects(describe(each, { verify: () => false }), refusedAs("survey", /signature/));
  }
});

test("no quotation mark, of whatever form, ends a label", async () => {
  const labelled = structuredClone(data);
  labelled.schema.dimension[0].label = "Age\u201d. In clear: nothing. \uff02\\";
  assert.ok((await describe(new Survey(JSON.stringify(labelled)))).includes(String.raw` "Age\". In clear: nothing. \"\\" (`));
});

test("a missing value of a measure is NULL, or counts as the number or the levels have it", async () => {
  const cases = [
    [{}, "", "a bound drawn evenly"],
    [{ levels: 3 }, "", "the middle of the bounds"],
    [{ missing: "code" }, ", or missing", "missing (NULL)"],
    [{ levels: 3, rounding: "quadratic", missing: "code" }, ", or missing", "missing (NULL)"],
    [{ missing_as: "0" }, "", "0"],
    [{ levels: 3, missing_as: "0.25" }, "", "0.25"],
  ];
  for (const [keys, orMissing, said] of cases) {
    const schema = readSchema({ dimension: [], measure: [{ name: "spent", bounds: ["0", "1"], ...keys }], public: [] }, "schema");
    const text = await describe({ table: "app", schema, promise: {}, validity: {}, recordColumns: [] });
    assert.ok(text.includes(`spent (a number from 0 to 1${orMissing}). A value outside counts as the nearer bound. A missing value counts as ${said}.`), text);
  }
});

test("what a measure says of missing values is one thing, and within its bounds", () => {
  for (const keys of [{ missing: "random" }, { missing: "code", missing_as: "0" }, { missing_as: "1.5" }, { missing_as: 0 }]) {
    const schema = { dimension: [], measure: [{ name: "spent", bounds: ["0", "1"], ...keys }], public: [] };
    assert.throws(() => readSchema(schema, "schema"), refusedAs("survey", /./), JSON.stringify(keys));
  }
});

test("a missing value of a measure has the last code, whatever the word", () => {
  const { measures: [own], sizes } = readSchema({ dimension: [], measure: [{ name: "spent", bounds: ["0", "1"], missing: "code" }], public: [] }, "schema");
  assert.deepEqual(sizes, [3]);
  for (const word of [0n, (1n << 64n) - 1n]) {
    for (const missing of [null, undefined, "x", true, {}]) assert.equal(own.code(...own.threshold(missing), word), 2);
    assert.equal(own.code(...own.threshold(-1), word), 0);
    assert.equal(own.code(...own.threshold(7), word), 1);
  }
});

test("a ledger holds no names, and is not taken for an empty one", async () => {
  let text;
  const store = new TextStore(() => text, async (next) => { text = next; });
  const ledger = new Ledger(store, budgets), line = await respond(survey, {}, { policy, ledger, day });
  for (const name of survey.schema.names) assert.ok(!text.includes(name) && !text.includes(hashText(name)));
  const [{ names }] = JSON.parse(JSON.parse(text).text).answers;
  assert.ok(names.length && names.every((name) => /^[0-9a-f]{64}$/.test(name)));
  assert.equal(await respond(survey, {}, { policy, ledger, day }), line);
  const whole = text;
  const earlier = JSON.stringify({ format: 2, ...JSON.parse(JSON.parse(whole).text) });
  for (text of ["", "{", "null", "{}", whole.slice(1), earlier, whole.replace('"format":4', '"format":2'), whole.replace(line.slice(10, 30), "x")]) {
    await assert.rejects(respond(survey, {}, { policy, ledger, day }), refusedAs("ledger", /damaged/));
  }
});

test("any bit of a ledger that is flipped, and any part that is lost, is an error", async () => {
  let bytes, calls = 0;
  const store = new TextStore(() => new TextDecoder().decode(bytes), async (next) => { bytes = new TextEncoder().encode(next); });
  const first = new TextStore(() => undefined, store.write), answer = (each, limits = {}) => respond(each, {}, { policy, ledger: new Ledger(store, { ...budgets, ...limits }), day });
  const line = await respond(survey, {}, { policy, ledger: new Ledger(first, budgets), day }), whole = bytes;
  assert.equal(await answer(survey), line);
  const isDamaged = () => assert.rejects(new Ledger(store, budgets).pending(day), refusedAs("ledger", /damaged/));
  for (let bit = 0; bit < 8 * whole.length; bit++) {
    bytes = Uint8Array.from(whole);
    bytes[bit >> 3] ^= 1 << (bit & 7);
    await isDamaged();
    calls++;
  }
  for (let length = 0; length < whole.length; length++) {
    bytes = whole.slice(0, length);
    await isDamaged();
  }
  assert.ok(calls > 4000);
  // The control: with a checksum that was made anew, what one bit changed is believed, and given again over the budget.
  const { text } = JSON.parse(new TextDecoder().decode(whole)), other = new Survey(JSON.stringify({ ...data, collector: "0".repeat(64) }));
  const price = /"epsilon":"(\d)/.exec(text)[0], changed = text.replace(price, `${price.slice(0, -1)}0`);
  for (const [content, isBelieved] of [[text, false], [changed, true]]) {
    bytes = new TextEncoder().encode(JSON.stringify({ format: 3, checksum: checksum(content), text: content }));
    const given = answer(other, { total: decimalText(survey.promise.epsilon) });
    await (isBelieved ? given : assert.rejects(given, refusedAs("budget spent", /of the budget/)));
  }
});

test("changes of a text do not overlap, and one that fails changes nothing", async () => {
  let text;
  const wait = () => new Promise((resolve) => { setTimeout(resolve, 1); });
  const store = new TextStore(async () => { await wait(); return text; }, async (next) => { await wait(); text = next; });
  const changes = Array.from({ length: 20 }, (_, i) => store.update((count = 0) => { if (i % 5 === 4) throw new Error("no"); return count + 1; }));
  assert.equal((await Promise.allSettled(changes)).filter(({ status }) => status === "rejected").length, 4);
  assert.equal(text, "16");
});

test("it needs nothing but what every engine has", async () => {
  const names = ["crypto", "indexedDB", "structuredClone", "navigator", "fetch", "Blob", "Buffer", "process"];
  const kept = names.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]);
  for (const name of names) Object.defineProperty(globalThis, name, { value: undefined, configurable: true, writable: true });
  try {
    const random = (bytes) => bytes.fill(7), ledger = new Ledger(new MemoryStore(), budgets);
    const line = await respond(new Survey(JSON.stringify(data)), { age: 20 }, { policy, ledger, day, random });
    const reply = { ok: true };
    const collector = new Collector("https://collect.example", { fetch: async () => reply });
    assert.equal((await ledger.pending(day))[0].line, line);
    const sending = collector.send(ledger, day);
    collector.beacon();
    assert.deepEqual(await sending, { settled: 1, refused: 0, waiting: 0 });
  } finally {
    for (const [name, property] of kept) {
      if (property) Object.defineProperty(globalThis, name, property);
      else delete globalThis[name];
    }
  }
});

test("a report is given up for what a collector alone says", async () => {
  for (const [status, settled, refused] of [[200, 1, 0], [410, 1, 1], [422, 1, 1], [400, 0, 0], [403, 0, 0], [404, 0, 0], [429, 0, 0], [503, 0, 0]]) {
    const ledger = new Ledger(new MemoryStore(), budgets);
    await respond(survey, {}, { policy, ledger, day });
    const collector = new Collector("https://collect.example", { fetch: async () => new Response(null, { status }) });
    assert.deepEqual(await collector.send(ledger, day), { settled, refused, waiting: 1 - settled }, `${status}`);
  }
});

test("what a beacon carried waits for an acknowledgement", async () => {
  const ledger = new Ledger(new MemoryStore(), budgets), line = await respond(survey, {}, { policy, ledger, day }), carried = [];
  const property = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value: { sendBeacon: (url, body) => carried.push([url, body]) }, configurable: true });
  try {
    let reply = new Response(null, { status: 503 });
    const collector = new Collector("https://collect.example", { fetch: async () => reply });
    collector.beacon();
    assert.deepEqual(await collector.send(ledger, day), { settled: 0, refused: 0, waiting: 1 });
    collector.beacon();
    collector.beacon();
    assert.equal(carried.length, 2);
    assert.equal(await carried[0][1].text(), `${line}\n`);
    assert.ok(carried[0][1].type === "text/plain" && carried[0][0].endsWith(`/v1/surveys/${survey.fingerprint}/reports`));
    reply = new Response();
    assert.deepEqual(await collector.send(ledger, day), { settled: 1, refused: 0, waiting: 0 });
    collector.beacon();
    assert.equal(carried.length, 2);
  } finally {
    if (property) Object.defineProperty(globalThis, "navigator", property);
    else delete globalThis.navigator;
  }
});
