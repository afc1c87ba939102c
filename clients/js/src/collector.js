/** Where surveys come from and reports go: a collector's address. */

import { LdpsqlError, require } from "./json.js";
import { today, Survey } from "./survey.js";

/** How a report was refused for good; everything else is tried again. */
const FINAL = [400, 404, 410, 413, 415, 422];

export class Collector {
  /** url: of the collector.  fetch: the system's, or one like it. */
  constructor(url, { fetch = globalThis.fetch?.bind(globalThis) } = {}) {
    Object.assign(this, { url: String(url).replace(/\/+$/, ""), fetch });
    Object.freeze(this);
  }

  async #get(path) {
    const response = await this.fetch(`${this.url}/v1/${path}`, { credentials: "omit", referrerPolicy: "no-referrer" });
    if (!response.ok) throw new LdpsqlError("survey", `the collector has no ${path} (${response.status})`);
    return response.text();
  }

  /** The survey of a table that the collector asks now, checked. */
  async survey(table) {
    const { fingerprint } = JSON.parse(await this.#get(`tables/${encodeURIComponent(table)}`));
    require(typeof fingerprint === "string" && /^[0-9a-f]{64}$/.test(fingerprint), "the collector names none");
    const survey = new Survey(await this.#get(`surveys/${fingerprint}`));
    require(survey.fingerprint === fingerprint && survey.table === table, "the collector sent another one");
    return survey;
  }

  /**
   * Send what a ledger holds: how many reports are settled, and how many wait.
   *
   * A report waits until the collector has acknowledged it, or has refused it for good.
   */
  async send(ledger, day = today()) {
    const waiting = await ledger.pending(day);
    let settled = 0;
    for (const { survey, line } of waiting) {
      const options = { method: "POST", body: `${line}\n`, credentials: "omit", referrerPolicy: "no-referrer", headers: { "content-type": "application/x-ndjson" } };
      const response = await this.fetch(this.#address(survey), options).catch(() => undefined);
      if (!response?.ok && !FINAL.includes(response?.status)) continue;
      await ledger.settle([line]);
      settled++;
    }
    return { settled, waiting: waiting.length - settled };
  }

  /** Hand what a ledger holds to the browser as the page closes; it stays in the ledger until it is sent for sure. */
  async beacon(ledger, day = today()) {
    for (const { survey, line } of await ledger.pending(day)) {
      globalThis.navigator.sendBeacon(this.#address(survey), new Blob([`${line}\n`], { type: "text/plain" }));
    }
  }

  #address(fingerprint) {
    return `${this.url}/v1/surveys/${fingerprint}/reports`;
  }
}
