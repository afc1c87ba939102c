/** Where surveys come from and reports go: a collector's address. */

import { LdpsqlError, check } from "./json.js";
import { hex } from "./shapes.js";
import { Survey, today } from "./survey.js";

/** How a report was refused for good; everything else is tried again. */
const FINAL = [400, 404, 410, 413, 415, 422];

export class Collector {
  /** url: of the collector.  fetch: the system's, or one like it. */
  constructor(url, { fetch = globalThis.fetch?.bind(globalThis) } = {}) {
    this.url = String(url).replace(/\/+$/, "");
    this.fetch = (path, options) => fetch(`${this.url}/v1/${path}`, { credentials: "omit", referrerPolicy: "no-referrer", ...options });
    Object.freeze(this);
  }

  async #get(path) {
    const response = await this.fetch(path);
    if (!response.ok) throw new LdpsqlError("survey", `the collector has no ${path} (${response.status})`);
    return response.text();
  }

  /** The survey of a table that the collector asks now, checked. */
  async survey(table) {
    const { fingerprint } = JSON.parse(await this.#get(`tables/${encodeURIComponent(table)}`));
    const survey = new Survey(await this.#get(`surveys/${hex(64)(fingerprint, "fingerprint")}`));
    check(survey.fingerprint === fingerprint && survey.table === table, "", "is another one than the collector names");
    return survey;
  }

  /**
   * Send what a ledger holds: how many reports are settled, and how many wait.
   *
   * A report waits until the collector has acknowledged it, or has refused it for good.
   */
  async send(ledger, day = today()) {
    let settled = 0, waiting = 0;
    for (const { survey, line } of await ledger.pending(day)) {
      const response = await this.fetch(`surveys/${survey}/reports`, { method: "POST", body: `${line}\n`, headers: { "content-type": "application/x-ndjson" } }).catch(() => undefined);
      if (response?.ok || FINAL.includes(response?.status)) {
        await ledger.settle([line]);
        settled++;
      } else waiting++;
    }
    return { settled, waiting };
  }

  /** Hand what a ledger holds to the browser as the page closes; it stays in the ledger until `send` has an acknowledgement. */
  async beacon(ledger, day = today()) {
    for (const { survey, line } of await ledger.pending(day)) {
      globalThis.navigator?.sendBeacon?.(`${this.url}/v1/surveys/${survey}/reports`, new Blob([`${line}\n`], { type: "text/plain" }));
    }
  }
}
