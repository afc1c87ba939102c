// What an app does with the client, as functions that the tests call.

import { BrowserStore, Collector, Ledger, MemoryStore, Policy, respond } from "/client/index.js";

const budgets = { total: "3", perAttribute: "1" };
const policy = new Policy({ maxEpsilon: "1", public: ["version"] });
const ledger = new Ledger(new BrowserStore(), budgets);
let collector, survey;

document.addEventListener("visibilitychange", () => document.hidden && collector?.beacon());

globalThis.app = {
  /** Fetch a survey; what it is refused for, or "". */
  async open(address, table) {
    collector = new Collector(address);
    try {
      survey = await collector.survey(table);
      return "";
    } catch (error) {
      return `${error.kind}: ${error.message}`;
    }
  },
  answer: (record) => respond(survey, record, { policy, ledger }),
  forgetfully: (record) => respond(survey, record, { policy, ledger: new Ledger(new MemoryStore(), budgets) }),
  send: () => collector.send(ledger),
};
