/** A survey as a device holds it: what is asked, what is promised, and the plan of its reports. */

import { draw } from "./draw.js";
import { DAY, day, isoDay } from "./days.js";
import { LdpsqlError, canonical, check, parseJson } from "./json.js";
import { excess, odds } from "./odds.js";
import { coinsOf, columnLimits, eachChoice, partOf, questionOf, readPlan } from "./plan.js";
import { readPromise } from "./promise.js";
import { exceeds, expBelow } from "./rational.js";
import { UNITS, encode, label, misfits, name, publicTexts, readSchema } from "./schema.js";
import { hashText, toHex } from "./sha256.js";
import { hex, is, object, oneOf, whole } from "./shapes.js";
import { signedText, signer } from "./signed.js";

// -- surveys --------------------------------------------------------------------------------------

/** What its author says a table asks. */
const readStatement = object({ ldpsql_statement: oneOf(1), table: name, fingerprint: hex(64), issued: day, until: day, author: signer, signature: hex(128) });

const readSurvey = object({
  ldpsql_survey: (data) => data,
  table: name,
  label: [label],
  schema: readSchema,
  promise: readPromise,
  plan: readPlan,
  collector: hex(64),
  replay_window: whole(1, 366),
  validity: [object({ from: [day], until: [day] })],
  period: [oneOf("day", "week", "month")],
  sample: [whole(2, 366)],
  author: [signer],
  signature: [hex(128)],
  previous: [hex(64)],
  first: [hex(64)],
});

/** The day it is now, in UTC. */
export const today = () => isoDay(Date.now());

/** A published survey, checked: nothing of it can be changed by mistake. */
export class Survey {
  /**
   * From the text of a survey file. LdpsqlError says what is wrong with it.
   *
   * answer: the parsed answer of a collector that named the survey, undefined where the app itself has it.
   */
  constructor(text, answer) {
    check(typeof text === "string", "", "must be a text");
    const data = parseJson(text);
    check(data?.ldpsql_survey === 1, "", "must be an object whose ldpsql_survey is 1, the version known here");
    const read = readSurvey(data, ""), { schema, promise, plan, validity = {}, period, sample, author, first } = read;
    for (const [one, other] of [["previous", "first"], ["author", "signature"]]) check(!read[one] === !read[other], "", `must have both ${one} and ${other}, or neither`);
    check(!read.validity || validity.from || validity.until, "validity", "must have from or until");
    check(!sample || period, "sample", "must stand beside a period");
    check(!(validity.from > validity.until), "validity", "must not end before it starts");
    const [start, ...others] = schema.public, recordColumns = period ? others : schema.public;
    check(!period || (start?.name === "period" && start.type === "date"), "schema.public", "must begin with period, a date, in a survey with a period");
    check(!schema.names.has("period") && recordColumns.every((column) => column.name !== "period"), "schema", "must have no other column called period");
    check(`${plan.sizes}` === `${schema.sizes}`, "plan.sizes", "must be those of the schema");
    const fingerprint = hashText(canonical(data));
    Object.assign(this, read, { validity, recordColumns, fingerprint, signedText: author && signedText(data), chain: `${author ?? ""}:${first ?? (sample ? read.table : fingerprint)}` });
    this.#checkPromise(promise);
    if (answer) this.statement = answer.signature ? { ...readStatement(answer, "statement"), signedText: signedText(answer) } : {};
    Object.freeze(this);
  }

  #checkPromise({ kind, epsilon, delta }) {
    if (!epsilon) return;
    const allowed = expBelow(epsilon);
    const isBroken = delta[0] ? exceeds(excess(this.plan, allowed), delta) : exceeds(odds(this.plan, kind, this.schema.dimensions.map((column) => column.sensitive)), allowed);
    check(!isBroken, "plan", "must tell no more than is promised");
  }

  /** Whether a day, as 2026-01-31, is one on which it is answered. */
  isOpen(day) {
    const { from = day, until = day } = this.validity;
    return from <= day && day <= until;
  }

  /** The first day of the period of a day; undefined for a survey without periods. */
  periodOf(day) {
    return this.period && startOf(this.period, day);
  }

  /** Which devices, by their offset below `sample`, answer in the period of a day. */
  turnOf(day) {
    const { period, sample } = this, turn = UNITS[period][0](Date.parse(day)) % sample;
    return turn < 0 ? turn + sample : turn;
  }

  /** The last day on which a report that was drawn on a day may be sent again. */
  lastSendingDay(drawn) {
    const moment = Date.parse(drawn) + this.replay_window * DAY, last = moment < 253402300800000 ? isoDay(moment) : "9999-12-31";
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
    const open = publicTexts(this.recordColumns, record);
    if (this.period) open.unshift(["period", JSON.stringify(this.periodOf(day))]);
    return `{"id":"${toHex(bytes.subarray(-16))}","report":"${this.answer(record, words)}","public":{${open.map(([column, written]) => `"${column}":${written}`)}}}`;
  }

  /** Throw unless a line is a report of this survey. */
  checkReport(line) {
    try {
      const { plan, schema } = this, digits = plan.widths.map((width) => width / 4);
      const open = schema.public.map(({ name: column, holds }) => [column, is((value) => value === null || holds(value))]);
      const { report } = object({ id: hex(32), report: hex(digits.reduce((a, b) => a + b)), public: object(Object.fromEntries(open)) })(JSON.parse(line), "");
      let place = 0;
      const [question, ...answers] = digits.map((count) => Number(`0x${report.slice(place, (place += count))}`));
      const face = plan.faces.findLast(({ first }) => first <= question), limits = answers.map(() => 1);
      eachChoice(face, (choices) => {
        if (questionOf(face, choices) !== question - face.first) return;
        columnLimits(plan, coinsOf(face, choices), face.parts.map((part) => partOf(part, choices))).forEach((limit, i) => { limits[i] = Math.max(limits[i], limit); });
      });
      check(question < plan.questions && answers.every((answer, i) => answer < limits[i]), "", "has other numbers");
    } catch {
      throw new LdpsqlError("report", `not a report of survey ${this.table}`);
    }
  }
}

/** The first day of the day, week or month of a day. */
export const startOf = (period, day) => isoDay(UNITS[period][1](UNITS[period][0](Date.parse(day))));
