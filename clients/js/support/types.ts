import { FileStore } from "../src/node.js";
import { BrowserStore, Collector, Ledger, MemoryStore, Policy, Survey, TextStore, describe, respond } from "../src/index.js";

export async function takePart(text: string): Promise<string> {
  const survey = new Survey(text), policy = new Policy({ maxEpsilon: "1", public: ["version"] });
  const ledger = new Ledger(new BrowserStore(), { total: 2, perAttribute: 1 });
  new Ledger(new FileStore("ledger.json", { patience: 5 }), { total: 2, perAttribute: 1 });
  new Ledger(new MemoryStore(), { total: 2, perAttribute: "0.5" });
  const line: string = await respond(survey, { age: 31, at: null }, { policy, ledger });
  await new Collector("https://collect.example").send(ledger);
  // @ts-expect-error a policy has a largest epsilon
  new Policy({});
  new TextStore(async () => null, () => undefined);
  return (await describe(survey, { verify: () => true })) + line;
}
