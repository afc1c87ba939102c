import assert from "node:assert/strict";
import { test } from "node:test";

import { Collector, Ledger, MemoryStore, Policy, Survey, TextStore, describe, respond } from "../src/index.js";
import { checksum } from "../src/ledger.js";
import { decimalText } from "../src/rational.js";
import { Pledge } from "../src/shuffler.js";
import { vectors, verify } from "../support/vectors.js";

const { surveys: [data, other], shufflers, day, good } = vectors("pledges");
const survey = new Survey(JSON.stringify(data)), pledge = new Pledge(good), trusting = new Policy({ maxEpsilon: 2, shufflers });
const refusedAs = (kind, pattern) => (error) => error.kind === kind && pattern.test(error.message);
const give = (ledger, options) => respond(survey, { age: 1 }, { policy: trusting, ledger, day, verify, pledge, ...options });
const budgets = { total: 4, perAttribute: 4 };
const local = decimalText(survey.promise.epsilon);

/** The answers that a store holds. */
async function answersOf(store) {
  let found;
  await store.update((value) => { found = JSON.parse(value.text).answers; return value; });
  return found;
}

test("a person gives to a crowd what they do not give alone", async () => {
  const store = new MemoryStore(), ledger = new Ledger(store, { ...budgets, total: 2 });
  await assert.rejects(respond(survey, {}, { policy: new Policy({ maxEpsilon: 2 }), ledger, day }), refusedAs("not allowed", /asks for epsilon/));
  await assert.rejects(respond(survey, {}, { policy: new Policy({ maxEpsilon: 20 }), ledger, day }), refusedAs("budget spent", /0 of the budget of 2 in all is spent/));
  const first = await give(ledger), second = await give(ledger), [{ line, epsilon, localEpsilon, delta, recipient }, ...others] = await answersOf(store);
  assert.equal(others.length, 0);
  assert.deepEqual([epsilon, localEpsilon, delta, recipient], ["1", local, "0.000001", `${shufflers[0]}:${pledge.encryption}`]);
  assert.notEqual(first.slice(11, 75), second.slice(11, 75));
  assert.equal(first.length, second.length);
  survey.checkReport(line);
  assert.ok(![first, second].some((sealed) => sealed.includes(JSON.parse(line).id)));
});

test("each price has a budget of its own", async () => {
  const answered = { survey: "0".repeat(64), chain: "", period: "", day, until: day, epsilon: "1", delta: "0.000001", names: [], line: "", isSent: true, recipient: "a:b", localEpsilon: local };
  for (const [name, least, words] of [["total", 2, /epsilon 1, but 1 of the budget of 1.5 in all/], ["totalLocal", 2 * Number(local), /of the budget of .* for shufflers is spent/], ["shuffledDelta", "0.000002", /delta 0.000001, but 0.000001 of the budget/]]) {
    for (const [budget, isLeft] of [[least, true], [0.75 * Number(least), false]]) {
      const store = new MemoryStore(), text = JSON.stringify({ latest: day, answers: [answered] });
      await store.update(() => ({ format: 4, checksum: checksum(text), text }));
      const given = give(new Ledger(store, { ...budgets, totalLocal: 20, [name]: budget }));
      await (isLeft ? given : assert.rejects(given, refusedAs("budget spent", words)));
    }
  }
  assert.equal(decimalText(new Ledger(new MemoryStore(), budgets).totalLocal), "8");
});

test("what was given in clear does not count for shufflers, nor the other way round", async () => {
  const ledger = new Ledger(new MemoryStore(), { total: 20, perAttribute: 20, totalLocal: local });
  await respond(new Survey(JSON.stringify(other)), {}, { policy: new Policy({ maxEpsilon: 20 }), ledger, day });
  await give(ledger);
});

test("the policy limits both promises", async () => {
  for (const [limits, words] of [
    [{ maxEpsilon: "0.9" }, /asks for epsilon 1, and the policy allows 0.9/], [{ maxLocalEpsilon: 3 }, /allows 3 .maxLocalEpsilon/],
    [{ maxShuffledDelta: "1e-7" }, /maxShuffledDelta/], [{ shufflers: undefined }, /does not name/], [{ shufflers: [] }, /does not name/],
  ]) await assert.rejects(give(undefined, { policy: new Policy({ maxEpsilon: 2, shufflers, ...limits }) }), refusedAs("not allowed", words));
  await assert.rejects(give(undefined, { verify: undefined }), refusedAs("not allowed", /signature/));
  await assert.rejects(give(undefined, { verify: () => "yes" }), refusedAs("not allowed", /signature/));
  await assert.rejects(give(undefined, { day: "2026-05-16" }), refusedAs("not allowed", /ended on 2026-05-15/));
  assert.throws(() => new Policy({ maxEpsilon: 2, shufflers: shufflers[0] }), /shufflers is an array/);
  for (const name of ["maxLocalEpsilon", "maxShuffledDelta"]) assert.throws(() => new Policy({ maxEpsilon: 2, [name]: -1 }), new RegExp(name));
});

test("a report goes sealed to the shuffler that it was given to, and to no collector", async () => {
  const ledger = new Ledger(new MemoryStore(), budgets), taken = [];
  await give(ledger);
  const take = (status) => new Collector("https://mix.example", { fetch: async (url, { body }) => { taken.push([url, body]); return new Response(null, { status }); } });
  const renewed = new Pledge(vectors("pledges").answers.find(({ what }) => what.includes("renewed")).pledge);
  assert.deepEqual(await take(200).send(ledger, day), { settled: 0, refused: 0, waiting: 0 });
  for (const { text } of vectors("pledges").bad.filter(({ reason }) => /another survey$|another shuffler, whom|another key/.test(reason))) {
    assert.deepEqual(await take(200).send(ledger, day, new Pledge(text)), { settled: 0, refused: 0, waiting: 0 });
  }
  assert.deepEqual(await take(200).send(ledger, "2026-05-16", pledge), { settled: 0, refused: 0, waiting: 0 });
  assert.equal(taken.length, 0);
  assert.deepEqual(await take(503).send(ledger, day, pledge), { settled: 0, refused: 0, waiting: 1 });
  assert.deepEqual(await take(200).send(ledger, "2026-05-16", renewed), { settled: 1, refused: 0, waiting: 0 });
  assert.deepEqual(taken.map(([url]) => url), Array(2).fill(`https://mix.example/v1/surveys/${survey.fingerprint}/reports`));
  assert.ok(taken.every(([, body]) => /^\{"sealed":"[0-9a-f]+"\}\n$/.test(body)));
  assert.notEqual(taken[0][1], taken[1][1]);
});

test("a beacon carries what is sealed", async () => {
  const ledger = new Ledger(new MemoryStore(), budgets), carried = [], property = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  await give(ledger);
  const shuffler = new Collector("https://mix.example", { fetch: async () => new Response(null, { status: 503 }) });
  await shuffler.send(ledger, day, pledge);
  Object.defineProperty(globalThis, "navigator", { value: { sendBeacon: (_, body) => carried.push(body) }, configurable: true });
  try {
    shuffler.beacon();
  } finally {
    if (property) Object.defineProperty(globalThis, "navigator", property);
    else delete globalThis.navigator;
  }
  assert.match(await carried[0].text(), /^\{"sealed":"[0-9a-f]+"\}\n$/);
});

test("a pledge is fetched from the shuffler", async () => {
  const asked = [], replies = [new Response(good), new Response("{}"), new Response("", { status: 404 })];
  const shuffler = new Collector("https://mix.example/", { fetch: async (url) => { asked.push(url); return replies.shift(); } });
  assert.deepEqual(await Pledge.fetch(shuffler, survey), pledge);
  await assert.rejects(Pledge.fetch(shuffler, survey), refusedAs("survey", /has no/));
  await assert.rejects(Pledge.fetch(shuffler, survey), refusedAs("survey", /no pledge about this survey .404/));
  assert.deepEqual(new Set(asked), new Set([`https://mix.example/v1/surveys/${survey.fingerprint}/pledge`]));
});

test("nothing is drawn where the system cannot encrypt", async () => {
  const property = Object.getOwnPropertyDescriptor(globalThis, "crypto"), { getRandomValues } = crypto;
  const store = new MemoryStore(), ledger = new Ledger(store, budgets);
  for (const value of [{ getRandomValues }, { getRandomValues, subtle: { generateKey: async () => { throw new Error("unknown"); } } }]) {
    Object.defineProperty(globalThis, "crypto", { value, configurable: true });
    try {
      await assert.rejects(give(ledger), refusedAs("not allowed", /no crypto.subtle with X25519/));
    } finally {
      Object.defineProperty(globalThis, "crypto", property);
    }
  }
  assert.equal((await ledger.pending(day, pledge)).length, 0);
});

test("a ledger of the last format is read, and written in this one", async () => {
  let text;
  const store = new TextStore(() => text, async (next) => { text = next; }), clear = { policy: new Policy({ maxEpsilon: 20 }), day };
  const ledger = new Ledger(store, { total: 5, perAttribute: 5 }), line = await respond(survey, {}, { ...clear, ledger });
  text = text.replace('"format":4', '"format":3');
  assert.equal(await respond(survey, {}, { ...clear, ledger }), line);
  assert.match(text, /"format":4/);
});

test("a crowd is described as it is if its shuffler is honest, and if not", async () => {
  const text = await describe(survey, { verify, pledge });
  assert.match(text, /encrypted\. Only a shuffler can read it, .* has epsilon 1, delta 1e-06: .* 74 % at most, .* If it does not, others can learn as much as it does\. By itself/);
  assert.doesNotMatch(text, /cannot check/);
  for (const options of [{ pledge }, { pledge, verify: () => false }]) await assert.rejects(describe(survey, options), refusedAs("survey", /pledge|signature/));
  await assert.rejects(describe(new Survey(JSON.stringify(other)), { verify, pledge }), refusedAs("survey", /fit the survey/));
});
