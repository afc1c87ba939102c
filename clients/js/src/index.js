/** Answer surveys under local differential privacy, in a browser, in node, or in React Native. */

export { Collector } from "./collector.js";
export { describe } from "./describe.js";
export { LdpsqlError } from "./json.js";
export { Ledger } from "./ledger.js";
export { Policy } from "./policy.js";
export { respond } from "./respond.js";
export { BrowserStore, MemoryStore, TextStore } from "./stores.js";
export { Survey } from "./survey.js";
