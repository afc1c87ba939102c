// A fleet of devices in one process: node devices.mjs CLIENT ADDRESS TABLE, with a person's record in each
// line of stdin. CLIENT is the folder of @ldpsql/client's modules.
//
// Each device has a ledger of its own, in memory. What the collector has acknowledged is printed.

import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const AT_ONCE = 100, PATIENCE = 1000;
const [folder, address, table] = process.argv.slice(2);
const { Collector, Ledger, MemoryStore, Policy, respond } = await import(pathToFileURL(`${folder}/index.js`));
const collector = new Collector(address), policy = new Policy({ maxEpsilon: "2" });
const survey = await collector.survey(table);

async function answer(record) {
  const ledger = new Ledger(new MemoryStore(), { total: "2", perAttribute: "2" });
  const line = await respond(survey, record, { policy, ledger });
  for (;;) {
    const { refused, waiting } = await collector.send(ledger);
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
