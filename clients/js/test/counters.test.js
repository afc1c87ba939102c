import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";

import { Counters, answerPeriods, binOf, history, middleOf, periodsDue, preview, recordOf, report, showHistory, valueOf } from "../src/counters.js";
import { Collector, Ledger, MemoryStore, Policy, Survey, describe, respond } from "../src/index.js";
import { FileStore } from "../src/node.js";
import { startOf } from "../src/survey.js";
import { vectors } from "../support/vectors.js";

const { bins, cases, due } = vectors("events"), DAY = 20780, TODAY = "2026-11-23";
const folder = mkdtempSync(join(tmpdir(), "ldpsql-counters-"));
after(() => rmSync(folder, { recursive: true }));
const dayText = (number) => new Date(number * 864e5).toISOString().slice(0, 10);
const clock = (day = DAY) => ({ day, now() { return this.day * 864e5 + 5000; } });
const counting = (store = new MemoryStore(), time = clock()) => new Counters(store, { now: () => time.now() });

/** A survey of events, by day. */
function published(changes) {
  const { survey: other } = vectors("bad_reports"), { dimension, measure } = other.schema;
  const columns = [{ name: "period", type: "date" }, { name: "version", type: "text", event: "last" }, { name: "system", type: "text" }];
  const schema = { measure, dimension: dimension.map((column, i) => (i ? column : { ...column, event: "count of runs" })), public: columns };
  return JSON.stringify({ ...other, schema, period: "day", ...changes });
}
const survey = (changes) => new Survey(published(changes));
const policy = new Policy({ maxEpsilon: 20, public: ["version", "system"] }), budgets = { total: 1000, perAttribute: 1000 };

for (const { says, events, days, records } of cases) {
  test(says, async () => {
    const store = new MemoryStore(), time = clock(), counters = counting(store, time);
    for (const [day, kind, name, ...more] of events) {
      time.day = day;
      if (kind === "close") await counters.read([], name, more[0], true);
      else if (kind === "flush") await counters.flush();
      else counters[kind](name, ...more);
    }
    assert.deepEqual(await counters.change((state) => structuredClone(state.days)), days);
    for (const { name, first, end, values } of records) {
      const counted = (await counters.read([name], first, end, false))[name];
      for (const [what, value] of Object.entries(values)) assert.equal(valueOf(what, counted), value, what);
    }
  });
}

test("bins of durations", () => {
  for (const [microseconds, bin, middle] of bins) assert.deepEqual([binOf(microseconds), middleOf(bin)], [bin, middle]);
});

for (const { says, period, born, answered, today, due: expected, from, until } of due) {
  test(`due: ${says}`, { skip: !["day", "month"].includes(period) && startOf(period, "2026-11-24") !== "2026-11-23" && "there are no weeks" }, () => {
    const asked = survey({ period, ...(from || until ? { validity: { from, until } } : {}) });
    assert.deepEqual(periodsDue(asked, born, answered, Date.parse(today) / 864e5), expected);
  });
}

test("names that objects have anyway are counted as others", async () => {
  const counters = counting();
  for (const name of ["constructor", "__proto__", "to_string"]) { counters.add(name, 2); await counters.flush(); counters.set(name, name); }
  const found = await counters.read(["constructor", "__proto__", "to_string", "value_of"], DAY, DAY + 1, false);
  for (const name of ["constructor", "__proto__", "to_string"]) assert.deepEqual([valueOf("count", found[name]), valueOf("last", found[name])], [2, name]);
  assert.deepEqual(found.value_of, [{}, { last: null }]);
});

test("what is no name or no count is refused", () => {
  const counters = counting();
  for (const name of ["", "Runs", "2nd", "a-b", "a".repeat(64), undefined, 7]) assert.throws(() => counters.seen(name), /a name of an event/);
  for (const count of [-1, 1.5, NaN, "3"]) assert.throws(() => counters.add("runs", count), /whole number/);
});

test("work is timed, also where it fails and where it is asynchronous", async () => {
  const counters = counting(), fail = () => { throw new RangeError("no"); };
  assert.equal(counters.time("request", () => 7), 7);
  assert.throws(() => counters.time("request", fail), RangeError);
  assert.equal(await counters.time("request", async () => { await new Promise((resolve) => { setTimeout(resolve, 30); }); return 8; }), 8);
  await assert.rejects(counters.time("request", async () => fail()), RangeError);
  const { request: [entry] } = await counters.read(["request"], DAY, DAY + 1, false);
  assert.equal(entry.count, 4);
  assert.ok(entry.largest >= 25);
});

test("what cannot be written is kept, and counts once", async () => {
  const counters = counting();
  counters.add("runs", 2);
  await assert.rejects(counters.change(() => { throw new RangeError("no"); }), RangeError);
  counters.add("runs", 3);
  await counters.flush();
  await counters.flush();
  assert.equal(valueOf("count", (await counters.read(["runs"], DAY, DAY + 1, false)).runs), 5);
});

test("a damaged store is refused, and left as it is", async () => {
  const path = join(folder, "damaged");
  const sound = { format: 1, born: DAY, closed: 0, answered: {}, next: {}, surveys: [], days: {} };
  const changes = [{ born: "x" }, { answered: [] }, { surveys: {} }, { days: { 1: {} } }, { days: { 1: { names: { runs: 1 }, before: {} } } }];
  for (const text of ["{", "null", '{"format":2}', '{"format":1}', ...changes.map((change) => JSON.stringify({ ...sound, ...change }))]) {
    writeFileSync(path, text);
    const counters = counting(new FileStore(path));
    counters.add("runs");
    await assert.rejects(counters.flush(), /damaged or of another version/);
    assert.equal(readFileSync(path, "utf8"), text);
  }
});

test("the size is bounded whatever is counted", async () => {
  const time = clock(), counters = counting(new MemoryStore(), time);
  for (let i = 0; i < 1e5; i++) counters.add(`name_${i}`);
  await counters.flush();
  assert.equal(counters.dropped, 1e5 - 64);
  for (time.day++; time.day < DAY + 70; time.day++) {
    for (let i = 0; i < 70; i++) counters.set(`text_${time.day}_${i}`, time.day < DAY + 67 ? i : "\u20ac".repeat(10_000));
    await counters.flush();
  }
  const days = await counters.change((state) => Object.values(state.days));
  assert.equal(days.length, 64);
  for (const { names, before } of days) assert.ok(Object.keys(names).length <= 64 && Object.keys(before).length <= 64);
  assert.ok(days.every((day) => JSON.stringify(day).length < 64 * 2 * 300));
});

test("processes that count into one file, and end by themselves, lose nothing", async () => {
  const path = join(folder, "shared"), code = `
    const [{ Counters }, { FileStore }] = await Promise.all(["counters.js", "node.js"].map((file) => import(${JSON.stringify(new URL("../src/", import.meta.url).href)} + file)));
    const counters = new Counters(new FileStore(${JSON.stringify(path)}), { now: () => ${DAY} * 864e5 });
    for (let i = 0; i < 20; i++) { counters.add("runs"); if (i % 5 === 0) await counters.flush(); }
  `;
  await Promise.all(Array.from({ length: 3 }, () => promisify(execFile)(process.execPath, ["--input-type=module", "-e", code])));
  assert.equal(valueOf("count", (await counting(new FileStore(path)).read(["runs"], DAY, DAY + 1, false)).runs), 60);
});

test("every period is answered once, empty or not, whatever was counted", async () => {
  const given = [];
  for (const busy of [false, true]) {
    const time = clock(), counters = counting(new MemoryStore(), time), store = new MemoryStore(), ledger = new Ledger(store, budgets);
    await counters.flush();
    if (busy) { counters.add("runs", 900); counters.observe("request", 1e9); counters.set("version", "2.1"); }
    time.day = DAY + 5;
    const lines = await answerPeriods(survey(), counters, { policy, ledger, record: { system: "linux" } });
    assert.deepEqual(await answerPeriods(survey(), counters, { policy, ledger }), []);
    assert.deepEqual(lines.map((line) => JSON.parse(line).public.period), [0, 1, 2, 3, 4].map((i) => dayText(DAY + i)));
    assert.ok(lines.every((line) => JSON.parse(line).public.system === "linux" && JSON.parse(line).public.version === (busy ? "2.1" : null)));
    given.push(lines.map((line) => JSON.parse(line).report.length));
    // As a device that was killed once the ledger had the reports.
    await counters.change((state) => { state.answered = {}; });
    counters.add("runs", 7);
    assert.deepEqual(await answerPeriods(survey(), counters, { policy, ledger }), lines);
    assert.equal((await history(store)).length, 5);
  }
  assert.deepEqual(given[0], given[1]);
});

test("a program reports as it starts, and asks no network where nothing is due", async () => {
  const time = clock(), counters = counting(new MemoryStore(), time), store = new MemoryStore(), ledger = new Ledger(store, budgets), asked = [], taken = [];
  let isUp = true;
  const fetch = async (url, { body } = {}) => {
    asked.push(url);
    if (body && isUp) taken.push(body.trim());
    return new Response(url.includes("/tables/") ? JSON.stringify({ fingerprint: survey().fingerprint }) : body ? null : published(), { status: body && !isUp ? 503 : 200 });
  };
  const send = () => report(counters, new Collector("https://collect.example", { fetch }), "app", { policy, ledger });
  const hours = async (days, expected) => { time.day = DAY + days; assert.deepEqual(await send(), expected); };
  await hours(0, { settled: 0, refused: 0, waiting: 0 });
  let before = asked.length;
  await hours(0, undefined);
  assert.equal(asked.length, before);
  await hours(1, { settled: 1, refused: 0, waiting: 0 });
  await hours(4, { settled: 3, refused: 0, waiting: 0 });
  isUp = false;
  await hours(5, { settled: 0, refused: 0, waiting: 1 });
  before = asked.length;
  await hours(5, undefined);
  assert.equal(asked.length, before);
  isUp = true;
  await hours(6, { settled: 2, refused: 0, waiting: 0 });
  const given = await history(store, { counters });
  assert.deepEqual(given.map((each) => each.report), taken);
  assert.deepEqual(given.map(({ period }) => period), [0, 1, 2, 3, 4, 5].map((i) => dayText(DAY + i)));
  const words = await describe(survey());
  assert.ok(words.includes("(from events, count of runs: "));
  assert.ok(given.every((each) => each.words === words && each.isSent && each.epsilon === given[0].epsilon));
});

test("a clock that was ahead ends no counting", async () => {
  const time = clock(DAY + 1000), counters = counting(new MemoryStore(), time), count = async (name, days) => {
    for (let i = 0; i < days; i++, time.day++) {
      counters.add(name);
      await counters.flush();
    }
  };
  await count("ahead", 67);
  time.day = DAY;
  await count("runs", 3);
  const { runs } = await counters.read(["runs"], DAY, DAY + 3, false);
  assert.deepEqual(runs.slice(0, -1), [{ count: 1 }, { count: 1 }, { count: 1 }]);
  assert.deepEqual(await counters.change(({ born, days }) => [born, Object.keys(days).length]), [DAY, 64]);
});

test("what was refused for a while is answered before the next period", async () => {
  const time = clock(), counters = counting(new MemoryStore(), time), ledger = new Ledger(new MemoryStore(), budgets);
  const fetch = async (url, { body } = {}) => new Response(url.includes("/tables/") ? JSON.stringify({ fingerprint: survey({ period: "month" }).fingerprint }) : body ? null : published({ period: "month" }));
  const send = (given) => report(counters, new Collector("https://collect.example", { fetch }), "app", { policy, ledger: given });
  await send(ledger);
  time.day = Date.parse("2026-12-01") / 864e5;
  const poor = new Ledger(new MemoryStore(), { total: 0, perAttribute: 0 });
  await assert.rejects(send(poor));
  assert.equal(await send(ledger), undefined);
  time.day++;
  assert.equal((await send(ledger)).settled, 1);
  time.day++;
  assert.equal(await send(ledger), undefined);
});

test("a report that is too old to be sent stops no later one", async () => {
  const time = clock(), ledger = new Ledger(new MemoryStore(), budgets), asked = survey({ replay_window: 2 });
  // The second one is of a program that has lost its counters, and not its ledger.
  const [first, second] = [1, 2].map(() => counting(new MemoryStore(), time));
  await first.flush();
  await second.flush();
  time.day++;
  const [old] = await answerPeriods(asked, first, { policy, ledger });
  assert.ok(old);
  time.day += 4;
  await assert.rejects(answerPeriods(asked, second, { policy, ledger }), { kind: "not allowed" });
  const { answered } = await second.change((state) => state);
  assert.deepEqual(Object.values(answered), [DAY + 4]);
});

test("a preview is remembered by nobody", async () => {
  const counters = counting();
  counters.set("version", "2.1");
  const [one, other] = await Promise.all([0, 1].map(() => preview(survey(), counters, { policy })));
  assert.notEqual(one, other);
  survey().checkReport(one);
  assert.equal(JSON.parse(one).public.period, TODAY);
  assert.equal(await counters.change((state) => state.closed), 0);
});

test("what was given is shown as it left", async () => {
  const store = new MemoryStore(), ledger = new Ledger(store, budgets), line = await respond(survey(), {}, { policy, ledger, day: TODAY });
  const make = (kind) => ({ kind, textContent: "", children: [], append(...more) { this.children.push(...more); }, replaceChildren(...more) { this.children = more; } });
  const page = { ...make("div"), ownerDocument: { createElement: make } };
  showHistory(page, await history(store, { surveys: [survey()] }));
  const [words, list] = page.children, [item] = list.children;
  assert.equal(words.textContent, await describe(survey()));
  assert.match(item.textContent, /^2026-11-23, about the period from 2026-11-23 on: epsilon \d+(\.\d+)?, waiting$/);
  assert.equal(item.children[0].textContent, line);
  assert.match((showHistory(page, await history(store)), page.children[0].textContent), /without a description here, [0-9a-f]{64}/);
  assert.deepEqual(await history(new MemoryStore()), []);
});

test("a record has the values of its events", async () => {
  const counters = counting();
  counters.add("runs", 4);
  counters.set("version", "2.1");
  const found = await recordOf(survey(), counters, [DAY, DAY + 1], false);
  assert.deepEqual(Object.values(found), [4, "2.1"]);
});

test("a survey that asks in some periods is answered in one of so many", async () => {
  const time = clock(), counters = counting(new MemoryStore(), time), ledger = new Ledger(new MemoryStore(), budgets), sampled = survey({ sample: 13 });
  const lines = new Set();
  for (let days = 0; days < 40; days += 1) {
    if (days % 3 === 0) counters.add("runs");
    for (const line of await answerPeriods(sampled, counters, { policy, ledger, record: { system: "linux" } })) lines.add(line);
    time.day += 1;
  }
  const days = [...lines].map((line) => Date.parse(JSON.parse(line).public.period) / 864e5);
  assert.ok(days.length === 3 || days.length === 4, `${days.length} answers`);
  days.forEach((day, i) => assert.equal(day - days[0], 13 * i));
  assert.equal(typeof (await preview(sampled, counters, { policy })), "string");
});
