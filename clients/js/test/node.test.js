import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { linkSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

import { Ledger, Policy, Survey, respond } from "../src/index.js";
import { FileStore } from "../src/node.js";
import { vectors } from "../support/vectors.js";

const folder = mkdtempSync(join(tmpdir(), "ldpsql-"));
after(() => rmSync(folder, { recursive: true }));
const place = (name) => join(folder, name);
const isRefused = (pattern) => (error) => error.kind === "ledger" && pattern.test(error.message);

test("a file holds what a person has given", async () => {
  const survey = new Survey(JSON.stringify(vectors("recipe_fourier").surveys[0].survey)), path = place("ledger.json");
  const policy = new Policy({ maxEpsilon: 20, public: survey.recordColumns.map(({ name }) => name) }), limits = { total: 20, perAttribute: 20 };
  const answer = (store) => respond(survey, {}, { policy, ledger: new Ledger(store, limits), day: "2026-05-01" });
  const line = await answer(new FileStore(path));
  assert.equal(await answer(new FileStore(path)), line);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(folder), ["ledger.json"]);
  symlinkSync(path, place("other-name"));
  assert.equal(await answer(new FileStore(place("other-name"))), line);
  writeFileSync(path, readFileSync(path, "utf8").slice(0, -1));
  await assert.rejects(answer(new FileStore(path)), isRefused(/damaged/));
  await assert.rejects(answer(new FileStore(join(path, "x"))), isRefused(/cannot use the ledger/));
  await assert.rejects(answer(new FileStore(folder)), isRefused(/cannot use the ledger/));
});

test("a change that fails leaves the last value, and no lock", async () => {
  const store = new FileStore(place("failing"));
  await store.update(() => 1);
  await assert.rejects(store.update(() => { throw new RangeError("no"); }), RangeError);
  await store.update((value) => value + 1);
  assert.equal(readFileSync(place("failing"), "utf8"), "2");
});

test("changes by many stores of one process do not overlap", async () => {
  const add = async () => { for (let i = 0; i < 8; i++) await new FileStore(place("shared")).update((count = 0) => count + 1); };
  await Promise.all(Array.from({ length: 5 }, add));
  assert.equal(readFileSync(place("shared"), "utf8"), "40");
});

test("a lock of a living process is waited for, and then refused", async () => {
  const lock = place("held.lock"), store = new FileStore(place("held"), { patience: 50 });
  for (const owner of [{ pid: process.ppid, born: "" }, { pid: 2 ** 22 + 1, place: "another machine", born: "" }]) {
    await store.update(() => 1);
    writeFileSync(lock, JSON.stringify({ id: "x", place: await herePlace(), ...owner }));
    await assert.rejects(store.update(() => 2), isRefused(/is held by process/));
    rmSync(lock);
  }
  assert.equal(readFileSync(place("held"), "utf8"), "1");
});

/** The place that a lock names. */
async function herePlace() {
  let seen;
  const store = new FileStore(place("place"));
  await store.update(() => { seen = JSON.parse(readFileSync(place("place.lock"), "utf8")).place; return 0; });
  return seen;
}

test("a lock of a process that has ended is removed, and so is that of one that ended while it did", async () => {
  const dead = { place: await herePlace(), pid: 2 ** 22 + 1, born: "" }, lock = place("dead.lock");
  writeFileSync(lock, JSON.stringify({ ...dead, id: "a" }));
  writeFileSync(`${lock}.a`, JSON.stringify({ ...dead, id: "b" }));
  // The number of this process, but an earlier start.
  writeFileSync(`${lock}.a.b`, JSON.stringify({ ...dead, pid: process.pid, born: "earlier", id: "c" }));
  await new FileStore(place("dead")).update(() => 1);
  assert.deepEqual(readdirSync(folder).filter((name) => name.startsWith("dead")), ["dead"]);
});

test("processes that are killed at any point lose nothing that they were told is kept, and block nobody", { timeout: 60_000 }, async () => {
  const path = place("count"), most = 20;
  let kept = 0, started = 0;
  const run = () => new Promise((resolve) => {
    const child = fork(fileURLToPath(new URL("../support/count.js", import.meta.url)), [path]);
    let own = 0;
    started++;
    child.on("message", () => {
      kept++;
      if (++own === 3) setTimeout(() => child.kill("SIGKILL"), Math.random() * 8);
    });
    child.on("exit", resolve);
  });
  await Promise.all([1, 2, 3].map(async () => { while (started < most) await run(); }));
  const final = Number(readFileSync(path, "utf8"));
  // Each may have been killed between a change and its message.
  assert.ok(kept >= 3 * most && final >= kept && final <= kept + started, `${kept} kept, ${final} counted`);
  await new FileStore(path).update((count) => count + 1);
  assert.equal(Number(readFileSync(path, "utf8")), final + 1);
});
