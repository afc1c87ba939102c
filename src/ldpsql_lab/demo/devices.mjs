// A fleet of devices in one process: node devices.mjs CLIENT ADDRESS TABLE [SHUFFLER KEY], with a person's record
// in each line of stdin. CLIENT is the folder of @ldpsql/client's modules.
//
// Each device has a ledger of its own, in memory. What was acknowledged is printed. With the address and the public
// key of a shuffler, devices trust who has that key, and send it reports that nobody else can read.

import { createPublicKey, verify as isSignature } from "node:crypto";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const AT_ONCE = 100, PATIENCE = 1000;
const [folder, address, table, shuffler, ...shufflers] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}.js`));
const { Collector, Ledger, MemoryStore, Policy, respond } = await load("index");
const policy = new Policy({ maxEpsilon: "2", shufflers });
const survey = await new Collector(address).survey(table);
const receiver = new Collector(shuffler ?? address);
const pledge = shuffler ? await (await load("shuffler")).Pledge.fetch(receiver, survey) : undefined;

const KEY = "302a300506032b6570032100";  // what stands before a public key of Ed25519 in DER
function verify(author, signature, text) {
  const key = createPublicKey({ key: Buffer.from(KEY + author, "hex"), format: "der", type: "spki" });
  return isSignature(null, Buffer.from(text), key, Buffer.from(signature, "hex"));
}

async function answer(record) {
  const ledger = new Ledger(new MemoryStore(), { total: "2", perAttribute: "2" });
  const line = await respond(survey, record, { policy, ledger, verify, pledge });
  for (;;) {
    const { refused, waiting } = await receiver.send(ledger, undefined, pledge);
    if (refused) throw new Error("the collector refuses a report");
    if (!waiting) break;
    await setTimeout(PATIENCE);
  }
  console.log(line);
}

const records = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function work() {
  for (let next = await records.next(); !next.done; next = await records.next()) await answer(JSON.parse(next.value));
}
await Promise.all(Array.from({ length: AT_ONCE }, work));
