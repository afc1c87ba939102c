/** Where surveys come from and reports go: a collector's address. */

import { LdpsqlError, check, parseJson } from "./json.js";
import { hex } from "./shapes.js";
import { Survey, today } from "./survey.js";

/** How a collector refuses a report for good. Others than it may have said anything else, which is tried again. */
const FINAL = [410, 422];

export class Collector {
  #waiting = [];

  /** url: of the collector.  fetch: the system's, or one like it. */
  constructor(url, { fetch = globalThis.fetch?.bind(globalThis) } = {}) {
    this.url = String(url).replace(/\/+$/, "");
    this.fetch = fetch;
    Object.freeze(this);
  }

  #request(path, options) {
    return this.fetch(`${this.url}/v1/${path}`, { credentials: "omit", referrerPolicy: "no-referrer", ...options });
  }

  async #get(path) {
    const response = await this.#request(path);
    if (!response.ok) throw new LdpsqlError("survey", `the collector has no ${path} (${response.status})`);
    return response.text();
  }

  /** The survey of a table that the collector asks now, checked. */
  async survey(table) {
    const answer = parseJson(await this.#get(`tables/${encodeURIComponent(table)}`)), fingerprint = hex(64)(answer?.fingerprint, "fingerprint");
    const survey = new Survey(await this.#get(`surveys/${fingerprint}`), answer);
    check(survey.fingerprint === fingerprint && survey.table === table, "", "is another one than the collector names");
    return survey;
  }

  /**
   * Send what a ledger holds: how many reports are settled, how many of them were refused, and how many wait.
   *
   * A report waits until the collector has acknowledged it, or has refused it for good.  pledge: of
   * the shuffler whose address this is; the reports that it is about are sent, sealed, and no others.
   */
  async send(ledger, day = today(), pledge) {
    this.#waiting = await Promise.all((await ledger.pending(day, pledge)).map(async (report) => ({ ...report, body: `${pledge ? await pledge.seal(report.line) : report.line}\n` })));
    let settled = 0, refused = 0;
    for (const { survey, line, body } of [...this.#waiting]) {
      const response = await this.#request(`surveys/${survey}/reports`, { method: "POST", keepalive: true, body, headers: { "content-type": "application/x-ndjson" } }).catch(() => undefined);
      if (!response?.ok && !FINAL.includes(response?.status)) continue;
      await ledger.settle([line]);
      this.#waiting = this.#waiting.filter((report) => report.line !== line);
      settled++;
      if (!response.ok) refused++;
    }
    return { settled, refused, waiting: this.#waiting.length };
  }

  /**
   * Hand what the last `send` left, or has not sent yet, to the browser as the page closes: at once,
   * since a page that closes waits for nothing. It stays in the ledger until `send` has an
   * acknowledgement.
   */
  beacon() {
    for (const { survey, body } of this.#waiting) {
      globalThis.navigator?.sendBeacon?.(`${this.url}/v1/surveys/${survey}/reports`, new Blob([body], { type: "text/plain" }));
    }
  }
}
