/** A survey as a device holds it: what is asked, what is promised, and the plan of its reports. */

import { draw } from "./draw.js";
import { LdpsqlError, canonical, parseJson, require } from "./json.js";
import { excess, odds } from "./odds.js";
import { columnLimits, eachChoice, questionOf, readPlan } from "./plan.js";
import { decimal, exceeds, expBelow, multiply } from "./rational.js";
import { WORDS, dayOf, encode, misfits, publicTexts, readSchema, requireKeys, requireLabel, requireName } from "./schema.js";
import { hashText, toHex } from "./sha256.js";

const DAY = 864e5;
const FF = "ff".repeat(30), ZERO = "00".repeat(31);
const SMALL_ORDER = [`00${ZERO}`, `01${ZERO}`, `ec${FF}7f`, `ed${FF}7f`, `ee${FF}7f`,
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"];

const isHex = (text, length) => typeof text === "string" && text.length === length && /^[0-9a-f]*$/.test(text);

/** A decimal of a promise, with at most 20 digits. */
function readDecimal(text, low, high, what) {
  const number = typeof text === "string" ? decimal(text) : undefined;
  const digits = String(text).replace(/[eE].*/, "").replace(".", "").replace(/^0+/, "");
  require(number && digits.length <= 20 && !exceeds(low, number) && !exceeds(number, high), `promise: ${what}`);
  return number;
}

const readEpsilon = (text) => readDecimal(text, [1n, 1000n], [20n, 1n], "epsilon is a decimal string from 0.001 to 20");

function readPromise(data) {
  requireKeys(data, "promise", ["kind"], ["epsilon", "delta", "shuffle"]);
  const { kind, epsilon, delta = "0", shuffle } = data;
  require(["local", "uldp", "uldp-joint", "none"].includes(kind), "promise.kind must be one of local, uldp, uldp-joint, none");
  require((epsilon === undefined) === (kind === "none"), "a promise has an epsilon exactly when it promises something");
  require(typeof delta === "string" && /^\d{1,30}(\.\d{1,30})?$/.test(delta) && exceeds([1n, 1n], decimal(delta)), "promise.delta must be at least 0 and below 1");
  require(epsilon === undefined || /^\d{1,30}(\.\d{1,30})?$/.test(epsilon), "promise.epsilon is a decimal string");
  if (shuffle !== undefined) {
    requireKeys(shuffle, "promise.shuffle", ["epsilon", "delta", "users", "honest"]);
    readEpsilon(shuffle.epsilon);
    const honest = readDecimal(shuffle.honest, [1n, 10n ** 60n], [1n, 1n], "honest is a share");
    const { users } = shuffle;
    require(Number.isInteger(users) && users >= 2 && users <= 1e9, "promise: users is a whole number from 2 to 10^9");
    const people = (BigInt(users) * honest[0]) / honest[1];
    require(people >= 2n, "promise: fewer than 2 honest users hide nobody");
    readDecimal(shuffle.delta, [1n, 10n ** 30n], [1n, people], "delta lies between 1e-30 and 1 / (honest users)");
  }
  return { kind, epsilon: epsilon === undefined ? undefined : readEpsilon(epsilon), delta: decimal(delta), shuffle, epsilonText: epsilon };
}

const isoDay = (moment) => new Date(moment).toISOString().slice(0, 10);

/** The day it is now, in UTC. */
export const today = () => isoDay(Date.now());

/** A published survey, checked: nothing of it can be changed by mistake. */
export class Survey {
  /** From the text of a survey file. LdpsqlError says what is wrong with it. */
  constructor(text) {
    require(typeof text === "string", "it is a text");
    const data = parseJson(text);
    require(typeof data === "object" && data !== null && "ldpsql_survey" in data, "no key ldpsql_survey");
    require(data.ldpsql_survey === 1, "its version is not 1, which is the one known here");
    requireKeys(data, "the survey", ["ldpsql_survey", "table", "schema", "promise", "plan", "collector", "replay_window"],
      ["label", "previous", "first", "validity", "period", "author", "signature"]);
    const { table, schema, promise, plan, collector, replay_window: window, previous, first, validity = {}, period, author, signature } = data;
    requireName(table);
    for (const name of [collector, previous, first]) require(name === undefined || isHex(name, 64), "a part or a round is named by its SHA-256");
    require((previous === undefined) === (first === undefined), "a later round names the one before and the first one");
    require(Number.isInteger(window) && window >= 1 && window <= 366, "replay_window is a number of days from 1 to 366");
    require(period === undefined || period === "day" || period === "month", "period is day or month");
    requireKeys(validity, "validity", [], ["from", "until"]);
    require(!("validity" in data) || Object.keys(validity).length, "validity has neither from nor until");
    for (const day of Object.values(validity)) dayOf(day);
    require(!(validity.from > validity.until), "it ends before it starts");
    require((author === undefined) === (signature === undefined), "a signature needs its author, and an author a signature");
    if (author !== undefined) {
      require(isHex(author, 64) && isHex(signature, 128), "author and signature are 64 and 128 hexadecimal digits");
      const last = (parseInt(author.slice(62), 16) & 127).toString(16).padStart(2, "0");
      require(!SMALL_ORDER.includes(author.slice(0, 62) + last), "author is a key under which anybody can sign");
    }
    const { label } = data;
    requireLabel(label);
    const columns = readSchema(schema), open = columns.public, hasPeriod = period !== undefined;
    require(!hasPeriod || (open[0]?.name === "period" && open[0].type === "date"), "a survey with a period has period, a date, as its first public column");
    const named = [...columns.privateNames, ...open.slice(hasPeriod ? 1 : 0).map(({ name }) => name)];
    require(!named.includes("period"), "no column is called period");
    const guarantee = readPromise(promise), asked = readPlan(plan);
    require(asked.sizes.join() === columns.sizes.join(), "plan.sizes are not those of the schema");
    const text_ = canonical(data), { signature: _, ...covered } = data;
    Object.assign(this, {
      table, label, schema: columns, plan: asked, promise: guarantee, window, period, validity, author, signature, first,
      recordColumns: hasPeriod ? open.slice(1) : open,
      fingerprint: hashText(text_),
      signedText: author === undefined ? undefined : canonical(covered),
    });
    this.chain = `${author ?? ""}:${first ?? this.fingerprint}`;
    this.#checkPromise();
    Object.freeze(this);
  }

  #checkPromise() {
    const { kind, epsilon, delta } = this.promise;
    if (!epsilon) return;
    const allowed = expBelow(epsilon), sensitive = this.schema.dimensions.map((dimension) => dimension.sensitive);
    const isKept = delta[0] > 0n ? !exceeds(excess(this.plan, allowed), delta) : !exceeds(odds(this.plan, kind, sensitive), allowed);
    require(isKept, "the plan does not keep its promise");
  }

  /** Whether a day, as 2026-01-31, is one on which it is answered. */
  isOpen(day) {
    const { from = day, until = day } = this.validity;
    return from <= day && day <= until;
  }

  /** The first day of the period of a day; undefined for a survey without periods. */
  periodOf(day) {
    return this.period && (this.period === "day" ? day : `${day.slice(0, 8)}01`);
  }

  /** The last day on which a report that was drawn on a day may be sent again. */
  lastSendingDay(drawn) {
    const moment = dayOf(drawn) + this.window * DAY, last = moment < 253402300800000 ? isoDay(moment) : "9999-12-31";
    return this.validity.until < last ? this.validity.until : last;
  }

  /** The names of the columns of a record that do not fit, for whoever writes an app. */
  check(record) {
    return misfits(this.schema, this.recordColumns, record);
  }

  /** The digits of the report that a record gives with these words (BigInts), as many as `words`. */
  answer(record, words) {
    const codes = encode(this.schema, record, words), numbers = draw(this.plan, codes, words.slice(this.schema.words));
    return numbers.map((number, i) => number.toString(16).padStart(this.plan.widths[i] / 4, "0")).join("");
  }

  /** How many 64-bit words a report takes. */
  get words() {
    return this.schema.words + this.plan.words;
  }

  /** One line of JSON that may leave the device, from random bytes: a function of a Uint8Array that fills it. */
  draw(record, day, fill) {
    const bytes = new Uint8Array(8 * this.words + 16);
    fill(bytes);
    const view = new DataView(bytes.buffer), words = Array.from({ length: this.words }, (_, i) => view.getBigUint64(8 * i));
    const id = toHex(bytes.subarray(-16)), open = publicTexts(this.recordColumns, record);
    if (this.period) open.unshift(["period", JSON.stringify(this.periodOf(day))]);
    const clear = open.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join();
    return `{"id":"${id}","report":"${this.answer(record, words)}","public":{${clear}}}`;
  }

  /** Throw unless a line is a report of this survey. */
  checkReport(line) {
    const demand = (holds) => { if (!holds) throw new LdpsqlError("report", `not a report of survey ${this.table}`); };
    let row;
    try { row = JSON.parse(line); } catch { demand(false); }
    demand(row !== null && typeof row === "object" && Object.keys(row).sort().join() === "id,public,report");
    const { plan, schema } = this, sum = plan.widths.reduce((a, b) => a + b, 0);
    demand(isHex(row.id, 32) && isHex(row.report, sum / 4));
    let place = 0;
    const [question, ...answers] = plan.widths.map((width) => Number(`0x${row.report.slice(place, (place += width / 4))}`));
    demand(question < plan.questions);
    const face = plan.faces.findLast(({ first }) => first <= question), limits = new Array(answers.length).fill(1);
    eachChoice(face, (choices) => {
      if (questionOf(face, choices) === question - face.first) {
        columnLimits(plan, face, choices).forEach((limit, i) => { limits[i] = Math.max(limits[i], limit); });
      }
    });
    demand(answers.every((number, i) => number < limits[i]));
    demand(row.public !== null && typeof row.public === "object" && Object.keys(row.public).sort().join() === schema.public.map(({ name }) => name).sort().join());
    for (const { name, write } of schema.public) demand(row.public[name] === null || write(row.public[name]) !== "null");
  }
}

/** e^epsilon / (1 + e^epsilon), what a belief of one half can become by a report. */
export function largestBelief([top, bottom]) {
  const [a, b] = multiply(expBelow([top, bottom]), [1n, 1n]);
  return [a, a + b];
}

export { WORDS };
