/** Counts of a program's events, and the reports of periods that have ended. See docs/format.md#events. */

import { describe } from "./describe.js";
import { LdpsqlError } from "./json.js";
import { checksum } from "./ledger.js";
import { expect } from "./policy.js";
import { fillBySystem, respond } from "./respond.js";
import { DAY, isoDay } from "./days.js";

const FORMAT = 1, MOST_NAMES = 64, MOST_DAYS = 64, LONGEST_TEXT = 200, LONGEST_TIME = 2 ** 36 - 1, LARGEST = 2 ** 53, SECOND = 1000;
const MOST_SURVEYS = 16, LONGEST_WORDS = 16_000;
/** Days after its end for which a period is answered. */
const LATEST = 31;

/** The number of a duration's bin, in whole microseconds: below 16 each has its own, from there on every power of two has 8 of one width. */
export function binOf(microseconds) {
  let shift = 0;
  for (; microseconds >= 16; shift++) microseconds = Math.floor(microseconds / 2);
  return 8 * shift + microseconds;
}

/** The middle of a bin, in milliseconds. */
export function middleOf(bin) {
  const shift = Math.max(Math.floor(bin / 8) - 1, 0);
  return ((2 * (bin - 8 * shift) + 1) * 2 ** shift) / 2000;
}

const MOST_BINS = binOf(LONGEST_TIME) + 1;

/** What an object has under a name of its own: names are anybody's, such as constructor. */
const get = (object, name, other) => (Object.hasOwn(object, name) ? object[name] : other);
const put = (object, name, value) => Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true });

/** Add what was counted later to an entry, which is returned. */
function merge(entry, later) {
  if ("count" in later) entry.count = Math.min((entry.count ?? 0) + later.count, LARGEST);
  if ("last" in later) entry.last = later.last;
  if ("largest" in later) entry.largest = Math.max(entry.largest ?? later.largest, later.largest);
  for (const [bin, count] of Object.entries(later.times ?? {})) {
    entry.times ??= {};
    entry.times[bin] = Math.min((entry.times[bin] ?? 0) + count, LARGEST);
  }
  return entry;
}

/** The days that are kept, the latest one first. */
const daysOf = ({ days }) => Object.keys(days).map(Number).sort((a, b) => b - a);

/** What was counted on a day; one that begins has the last values of the day before it. */
function readDay(state, day) {
  if (state.days[day]) return state.days[day];
  const { names, before } = state.days[daysOf(state).find((own) => own < day)] ?? { names: {}, before: {} };
  const last = { ...before };
  for (const [name, entry] of Object.entries(names)) if ("last" in entry) put(last, name, entry.last);
  return { names: {}, before: Object.fromEntries(Object.entries(last).slice(-MOST_NAMES)) };
}

/** Add what was counted to a file's value; how many names had no place. */
function add(state, pending, today) {
  let dropped = 0;
  // A clock that was ahead has closed nothing.
  const events = [...pending.values()].map(({ day, name, entry }) => ({ day: day < state.closed && state.closed <= today ? today : day, name, entry }));
  for (const { day, name, entry } of events.sort((a, b) => a.day - b.day)) {
    const { names } = (state.days[day] = readDay(state, day));
    if (Object.hasOwn(names, name) || Object.keys(names).length < MOST_NAMES) put(names, name, merge(get(names, name, {}), entry));
    else dropped++;
  }
  // Days to come go first.
  for (const day of daysOf(state).sort((a, b) => (a > today) - (b > today)).slice(MOST_DAYS)) delete state.days[day];
  return dropped;
}

const areObjects = (values) => values.every((value) => typeof value === "object" && value && !Array.isArray(value));

/** Whether a store's value is one of counters, as far as the parts of its days. */
const isSound = (state) => state?.format === FORMAT && [state.born, state.closed].every(Number.isInteger) && Array.isArray(state.surveys) && areObjects([state.answered, state.next, state.days]) &&
  areObjects(Object.values(state.days)) && Object.values(state.days).every(({ names, before }) => areObjects([names, before]) && areObjects(Object.values(names)));

/** Counters that have something in memory. */
const unwritten = new Set();
let isListening = false;

/** Write what is in memory once a page is hidden, and once node ends by itself. */
function remember(counters) {
  unwritten.add(counters);
  if (isListening) return;
  isListening = true;
  const write = () => unwritten.forEach((each) => each.flush().catch(() => {}));
  globalThis.document?.addEventListener?.("visibilitychange", () => globalThis.document.hidden && write());
  globalThis.process?.once?.("beforeExit", write);
}

/**
 * The counters of one program, in a store such as a ledger has, and one of their own.
 *
 * Once what `flush` returns has resolved, all that was counted before is in the store, and the end of
 * the program neither loses it nor has it counted twice. Other events are written within a second, when a page is hidden, and
 * as node ends by itself; a program that is killed loses them.
 *
 * dropped: how many names had no place, for a day has room for 64.
 */
export class Counters {
  #store;
  #pending = new Map();
  #timer;
  #writing = Promise.resolve();

  /** now: the milliseconds since 1970. */
  constructor(store, { now = Date.now } = {}) {
    this.#store = store;
    this.now = now;
    this.dropped = 0;
  }

  /** The day it is, from 1970-01-01 on. */
  get day() {
    return Math.max(Math.floor(this.now() / DAY), 0);
  }

  /** Count an event, or several. */
  add(name, count = 1) {
    expect(Number.isSafeInteger(count) && count >= 0, "count is a whole number, at least 0");
    this.#count(name, { count });
  }

  /** Say what is so now: a text, a number up to 2^53, a truth value; others are missing. */
  set(name, value) {
    const isNumber = typeof value === "number" && Math.abs(value) <= LARGEST;
    const last = typeof value === "string" ? [...value].slice(0, LONGEST_TEXT).join("") : isNumber || typeof value === "boolean" ? value : null;
    this.#count(name, isNumber ? { last, largest: last } : { last });
  }

  /** Time a function, which may be asynchronous, and count it; what it returns is returned. */
  time(name, work) {
    const start = performance.now(), end = () => this.observe(name, performance.now() - start);
    let result;
    try {
      result = work();
    } catch (error) {
      end();
      throw error;
    }
    if (typeof result?.then !== "function") {
      end();
      return result;
    }
    return Promise.resolve(result).finally(end);
  }

  /** Count something that took so many milliseconds; what is no number took 0. */
  observe(name, milliseconds) {
    const given = milliseconds * 1000, microseconds = given > 0 ? Math.floor(Math.min(given, LONGEST_TIME)) : 0;
    this.#count(name, { count: 1, largest: microseconds / 1000, times: { [binOf(microseconds)]: 1 } });
  }

  /** Say that something was there or was used. */
  seen(name) {
    this.#count(name, { count: 0 });
  }

  #count(name, entry) {
    const { day } = this, key = `${day} ${name}`, known = this.#pending.get(key);
    if (known) {
      merge(known.entry, entry);
      return;
    }
    expect(typeof name === "string" && /^[a-z_][a-z0-9_]{0,62}$/.test(name), "a name of an event has at most 63 of a-z, 0-9 and _, no digit first");
    if (this.#pending.size >= 2 * MOST_NAMES) {
      this.dropped++;
      return;
    }
    this.#pending.set(key, { day, name, entry });
    remember(this);
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.flush().catch(() => {});
    }, SECOND);
    // Node need not wait for it.
    this.#timer.unref?.();
  }

  /** Write everything that was counted before. What cannot be written is kept in memory, and tried again. */
  flush() {
    return this.change(() => {});
  }

  /** Write everything, and read or change what the store holds; what `work` returns is returned once that is kept. */
  change(work) {
    const next = this.#writing.then(async () => {
      const pending = this.#pending;
      this.#pending = new Map();
      let result, dropped = 0;
      try {
        await this.#store.update((value) => {
          // A copy: where this fails, the value is the last one still.
          const state = value === undefined ? { format: FORMAT, born: this.day, closed: 0, answered: {}, next: {}, surveys: [], days: {} } : JSON.parse(JSON.stringify(value));
          if (!isSound(state)) throw new LdpsqlError("ledger", "the counters are damaged or of another version; nothing was sent");
          state.born = Math.min(state.born, this.day);
          dropped = add(state, pending, this.day);
          result = work(state);
          return state;
        });
      } catch (error) {
        for (const [key, later] of this.#pending) {
          const known = pending.get(key);
          if (known) merge(known.entry, later.entry);
          else pending.set(key, later);
        }
        this.#pending = pending;
        throw error;
      }
      this.dropped += dropped;
      if (!this.#pending.size) unwritten.delete(this);
      return result;
    });
    this.#writing = next.catch(() => {});
    return next;
  }

  /**
   * What was counted under some names on the days from `first` on and before `end`, and then an entry
   * with the value that was set last. closes: whether the days are over: what comes later is counted
   * on the day on which it is written.
   */
  read(names, first, end, closes) {
    return this.change((state) => {
      if (closes) state.closed = end;
      const days = Array.from({ length: end - first }, (_, i) => state.days[first + i]?.names ?? {});
      const latest = state.days[daysOf(state).find((day) => day < end)] ?? { names: {}, before: {} };
      return Object.fromEntries(names.map((name) => {
        const { last = get(latest.before, name, null) } = get(latest.names, name, {});
        return [name, [...days.map((own) => get(own, name, {})), { last }]];
      }));
    });
  }
}

// -- periods --------------------------------------------------------------------------------------

const dayText = (number) => isoDay(number * DAY), dayNumber = (text) => Date.parse(text) / DAY;

/** What becomes of the events of one name, by what `read` gives; null is a missing value. */
export function valueOf(what, counted) {
  const days = counted.slice(0, -1), isActive = days.map((entry) => Object.keys(entry).length > 0);
  if (what === "count") return days.reduce((sum, { count = 0 }) => Math.min(sum + count, LARGEST), 0);
  if (what === "days") return isActive.filter(Boolean).length;
  if (what === "seen") return isActive.includes(true);
  if (what === "last") return counted.at(-1).last;
  if (what === "largest") {
    const largest = Math.max(...days.map((entry) => entry.largest ?? -Infinity));
    return largest === -Infinity ? null : largest;
  }
  const ranks = [];
  let sum = 0n;
  for (let bin = 0; bin < MOST_BINS; bin++) {
    for (const { times } of days) sum += BigInt(times?.[bin] ?? 0);
    ranks.push(sum);
  }
  // The smallest of them below which or at which so many lie.
  const rank = (sum * BigInt(what.slice(1)) + 99n) / 100n;
  return sum ? middleOf(ranks.findIndex((count) => count >= (rank || 1n))) : null;
}

/** The days of a day's period: the first one, and the one after the last. */
export function daysOfPeriod(survey, day) {
  const first = survey.periodOf(dayText(day));
  expect(first, "events are for a survey with a period");
  let end = day;
  while (survey.periodOf(dayText(end)) === first) end++;
  return [dayNumber(first), end];
}

/** The days of every period that is to be answered on a day, the earliest one first. */
export function periodsDue(survey, born, answered, day) {
  const due = [], opens = dayNumber(survey.validity.from ?? "1970-01-01");
  let [end] = daysOfPeriod(survey, day);
  while (survey.isOpen(dayText(day)) && end > Math.max(born, opens) && end >= day - LATEST) {
    const days = daysOfPeriod(survey, end - 1);
    // What was answered in days to come was by a clock that was ahead.
    if (days[0] <= answered && answered <= day) break;
    due.unshift(days);
    [end] = days;
  }
  return due;
}

const keyOf = ({ author = "", table }) => `${author}:${table}`;

/** The values of the columns that are events, from what was counted on some days. */
export async function recordOf(survey, counters, [first, end], closes) {
  const { dimensions, measures } = survey.schema, asked = [...dimensions, ...measures, ...survey.recordColumns].filter(({ event }) => event).map(({ name, event }) => {
    const [what, own = name] = event.split(" of ");
    return { name, what, own };
  });
  const counted = await counters.read(asked.map(({ own }) => own), first, end, closes);
  return Object.fromEntries(asked.map(({ name, what, own }) => [name, valueOf(what, counted[own])]));
}

/**
 * Answer a survey for every period that has ended and is to be answered, and keep the reports in the
 * ledger, from where a collector's `send` takes them. The lines, in order.
 *
 * These are the periods since the counters began, or the latest one that was answered, that ended at
 * most 31 days ago and have a day on which the survey is open. record: values of columns that are no
 * events. Errors are those of `respond`, "not allowed" after the other periods.
 */
export async function answerPeriods(survey, counters, { policy, ledger, record = {}, day = dayText(counters.day), random, verify }) {
  expect(ledger, "events are answered with a ledger");
  await policy.require(survey, day, verify);
  const key = keyOf(survey), { born, answered } = await counters.change((state) => ({ born: state.born, answered: state.answered[key] ?? -1 })), lines = [];
  let refusal;
  for (const days of periodsDue(survey, born, answered, dayNumber(day))) {
    const own = await recordOf(survey, counters, days, true);
    try {
      lines.push(await respond(survey, { ...record, ...own }, { policy, ledger, day, period: dayText(days[0]), random, verify }));
    } catch (error) {
      // A survey may ask in some of its periods, whatever was counted.
      if (error.kind !== "not asked") {
        if (error.kind !== "not allowed") throw error;
        refusal = error;
        continue;
      }
    }
    await counters.change((state) => { state.answered[key] = days[0]; });
  }
  if (refusal) throw refusal;
  return lines;
}

/**
 * Answer a table of a collector for every period that has ended, and send what the ledger holds: what
 * `Collector.send` returns, or undefined where nothing is due, which asks no network.
 *
 * Something is due as the first day of a period comes, and is tried once a day until nothing is
 * refused and the collector has the reports. What was answered nevertheless is sent.
 */
export async function report(counters, collector, table, answering) {
  const { day = dayText(counters.day), ledger } = answering, number = dayNumber(day);
  const isDue = await counters.change((state) => {
    const ahead = get(state.next, table, 0) - number;
    // A day that is further ahead than any period is long was a wrong clock's.
    if (ahead > 0 && ahead <= LATEST) return false;
    put(state.next, table, number + 1);
    return true;
  });
  if (!isDue) return undefined;
  const survey = await collector.survey(table);
  let refusal;
  await answerPeriods(survey, counters, { ...answering, day }).catch((error) => { refusal = error; });
  const sent = await collector.send(ledger, day), words = await describe(survey, answering);
  await counters.change((state) => {
    if (!sent.waiting && !refusal) put(state.next, table, daysOfPeriod(survey, number)[1]);
    if (!state.surveys.some(([own]) => own === survey.fingerprint)) state.surveys = [...state.surveys, [survey.fingerprint, words.slice(0, LONGEST_WORDS)]].slice(-MOST_SURVEYS);
  });
  if (refusal) throw refusal;
  return sent;
}

/** A report of the running period so far, drawn anew each time; nothing is closed, charged or sent, and it is not the one that will be sent. */
export async function preview(survey, counters, { policy, record = {}, day = dayText(counters.day), random = fillBySystem, verify }) {
  await policy.require(survey, day, verify);
  return survey.draw({ ...record, ...(await recordOf(survey, counters, daysOfPeriod(survey, dayNumber(day)), false)) }, day, random);
}

// -- what was given -------------------------------------------------------------------------------

/**
 * Every report that was drawn, from the store of a ledger: survey (its fingerprint), author, period,
 * day, epsilon, delta, report (the line that leaves), isSent, and words, what `describe` says of it.
 *
 * counters: which remember the words of surveys that they answered.  surveys: that are at hand.
 */
export async function history(store, { counters, surveys = [] } = {}) {
  let answers = [];
  await store.update((value) => {
    if (value && checksum(value.text) !== value.checksum) throw new LdpsqlError("ledger", "the ledger is damaged");
    if (value) ({ answers } = JSON.parse(value.text));
    return value;
  });
  const known = new Map((await counters?.change(({ surveys: kept }) => kept)) ?? []);
  for (const survey of surveys) known.set(survey.fingerprint, await describe(survey));
  return answers.map(({ survey, chain, period, day, epsilon, delta, line, isSent }) => ({ survey, author: chain.split(":")[0] || undefined, period: period || undefined, day, epsilon, delta, report: line, isSent, words: known.get(survey) }));
}

/** Show what `history` gave in an element of a page: each survey in plain words, its reports, and what they cost. */
export function showHistory(element, given) {
  const make = (kind, text) => Object.assign(element.ownerDocument.createElement(kind), { textContent: text });
  const parts = [];
  for (const survey of new Set(given.map((each) => each.survey))) {
    const own = given.filter((each) => each.survey === survey), list = make("ul", "");
    parts.push(make("pre", own[0].words ?? `A survey without a description here, ${survey}`), list);
    for (const { day, period, epsilon, delta, isSent, report: line } of own) {
      const item = make("li", `${day}${period ? `, about the period from ${period} on` : ""}: epsilon ${epsilon}${delta === "0" ? "" : `, delta ${delta}`}${isSent ? "" : ", waiting"}`);
      item.append(make("pre", line));
      list.append(item);
    }
  }
  element.replaceChildren(...parts);
}
