import { FileStore } from "../src/node.js";
import { Counters, history, report, showHistory } from "../src/counters.js";
import { Pledge } from "../src/shuffler.js";
import { BrowserStore, Collector, Ledger, MemoryStore, Policy, Survey, TextStore, describe, respond } from "../src/index.js";

export async function takePart(text: string): Promise<string> {
  const survey = new Survey(text), policy = new Policy({ maxEpsilon: "1", public: ["version"] });
  const ledger = new Ledger(new BrowserStore(), { total: 2, perAttribute: 1 });
  new Ledger(new FileStore("ledger.json", { patience: 5 }), { total: 2, perAttribute: 1 });
  new Ledger(new MemoryStore(), { total: 2, perAttribute: "0.5" });
  const line: string = await respond(survey, { age: 31, at: null }, { policy, ledger });
  await new Collector("https://collect.example").send(ledger);
  const shuffler = new Collector("https://mix.example"), pledge = await Pledge.fetch(shuffler, survey);
  await respond(survey, {}, { policy: new Policy({ maxEpsilon: 2, shufflers: ["d75a98"] }), ledger, pledge });
  await shuffler.send(ledger, undefined, pledge);
  // @ts-expect-error a policy has a largest epsilon
  new Policy({});
  new TextStore(async () => null, () => undefined);
  return (await describe(survey, { verify: () => true })) + line;
}

export async function countEvents(element: Element): Promise<number | undefined> {
  const counters = new Counters(new BrowserStore("counters")), store = new BrowserStore(), ledger = new Ledger(store, { total: 2, perAttribute: 1 });
  const answer: number = counters.time("request", () => 7);
  counters.add("runs", answer);
  counters.set("version", "2.1");
  showHistory(element, await history(store, { counters }));
  // @ts-expect-error events are answered with a ledger
  await report(counters, new Collector("https://collect.example"), "app", { policy: new Policy({ maxEpsilon: 1 }) });
  return (await report(counters, new Collector("https://collect.example"), "app", { policy: new Policy({ maxEpsilon: 1 }), ledger }))?.settled;
}
