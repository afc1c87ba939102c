/** A survey as a device holds it: what is asked, what is promised, and the plan of its reports. */

import { draw } from "./draw.js";
import { LdpsqlError, canonical, check, parseJson } from "./json.js";
import { excess, odds } from "./odds.js";
import { coinsOf, columnLimits, eachChoice, partOf, questionOf, readPlan } from "./plan.js";
import { ONE, decimal, exceeds, expBelow } from "./rational.js";
import { DAY, UNITS, day, encode, isoDay, label, misfits, name, publicTexts, readSchema } from "./schema.js";
import { hashText, toHex } from "./sha256.js";
import { hex, is, object, oneOf, variant, whole } from "./shapes.js";

// Keys under which anybody can sign, with the highest bit cleared.
const FF = "ff".repeat(30), ZERO = "00".repeat(31);
const SMALL_ORDER = [`00${ZERO}`, `01${ZERO}`, `ec${FF}7f`, `ed${FF}7f`, `ee${FF}7f`,
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"];

// -- promises -------------------------------------------------------------------------------------

const PLAIN = /^\d{1,30}(\.\d{1,30})?$/;

/** A reader of decimal texts within limits, of at most 20 digits. */
const number = (low, high, what, pattern = /./) => is((data) => {
  const read = typeof data === "string" && pattern.test(data) && decimal(data);
  return read && data.replace(/e.*/i, "").replace(".", "").replace(/^0+/, "").length <= 20 && !exceeds(low, read) && !exceeds(read, high);
}, `a decimal text from ${what}`);

const LEAST = [1n, 1000n], MOST = [20n, 1n], RANGE = "0.001 to 20", epsilon = number(LEAST, MOST, RANGE, PLAIN);
const delta = is((data) => typeof data === "string" && PLAIN.test(data) && exceeds(ONE, decimal(data)), "a decimal text from 0 to below 1");
const shuffle = object({ epsilon: number(LEAST, MOST, RANGE), delta: (data) => data, users: whole(2, 1e9), honest: number([1n, 10n ** 60n], ONE, "1e-60 to 1") });
const readKeys = variant("kind", { local: { epsilon }, uldp: { epsilon }, "uldp-joint": { epsilon }, none: {} }, { delta: [delta], shuffle: [shuffle] });

function readPromise(data, where) {
  const keys = readKeys(data, where), mixed = keys.shuffle;
  if (mixed) {
    const [top, bottom] = decimal(mixed.honest);
    mixed.people = (BigInt(mixed.users) * top) / bottom;
    check(mixed.people >= 2n, where, "must have at least 2 honest users");
    number([1n, 10n ** 30n], [1n, mixed.people], "1e-30 to 1 / (honest users)")(mixed.delta, `${where}.shuffle.delta`);
  }
  return { ...keys, epsilon: keys.epsilon && decimal(keys.epsilon), delta: decimal(keys.delta ?? "0") };
}

// -- surveys --------------------------------------------------------------------------------------

/** What its author says a table asks. */
const readStatement = object({ ldpsql_statement: oneOf(1), table: name, fingerprint: hex(64), issued: day, until: day, author: hex(64), signature: hex(128) });

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
  author: [hex(64)],
  signature: [hex(128)],
  previous: [hex(64)],
  first: [hex(64)],
});

/** What the signature of a survey or of a statement covers. */
const signedText = ({ signature: _, ...covered }) => canonical(covered);

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
    check(!author || !SMALL_ORDER.includes(author.slice(0, 62) + (parseInt(author.slice(62), 16) & 127).toString(16).padStart(2, "0")), "author", "must not be a key under which anybody can sign");
    const [start, ...others] = schema.public, recordColumns = period ? others : schema.public;
    check(!period || (start?.name === "period" && start.type === "date"), "schema.public", "must begin with period, a date, in a survey with a period");
    check(!schema.names.has("period") && recordColumns.every((column) => column.name !== "period"), "schema", "must have no other column called period");
    check(`${plan.sizes}` === `${schema.sizes}`, "plan.sizes", "must be those of the schema");
    const fingerprint = hashText(canonical(data));
    Object.assign(this, read, { validity, recordColumns, fingerprint, signedText: author && signedText(data), chain: `${author ?? ""}:${first ?? fingerprint}` });
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
