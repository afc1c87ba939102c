/** What a person has given so far, and which reports are still to be sent: one value in a store. */

import { LdpsqlError } from "./json.js";
import { readNumber } from "./policy.js";
import { add, decimal, decimalText, exceeds } from "./rational.js";

const NOTHING = [0n, 1n];
const EMPTY = { format: 1, latest: "", answers: [] };
const LONGEST_ABSENCE = 366, MILLISECONDS_A_DAY = 86_400_000;

/**
 * Budgets of one person, kept in a store.
 *
 * store: {update(change)}, which gives `change` the last value (undefined at first), keeps what it
 * returns before it resolves, and lets no two changes overlap.  total: the largest sum of epsilons.
 * perAttribute: the largest sum over the surveys that ask about one attribute.  delta: the largest
 * sum of deltas.  longestAbsence: days by which the clock may be ahead of the latest day ever seen.
 */
export class Ledger {
  #store;

  constructor(store, { total, perAttribute, delta = 0, longestAbsence = LONGEST_ABSENCE } = {}) {
    if (!Number.isSafeInteger(longestAbsence) || longestAbsence < 1) throw new LdpsqlError("ledger", "longestAbsence is a number of days, at least 1");
    this.#store = store;
    this.longestAbsence = longestAbsence;
    Object.assign(this, { total: readNumber(total, "total"), perAttribute: readNumber(perAttribute, "perAttribute"), delta: readNumber(delta, "delta") });
    Object.freeze(this);
  }

  /** Change the state; what is thrown inside leaves it as it was. */
  async #change(change) {
    let result;
    await this.#store.update((value = EMPTY) => {
      if (value.format !== EMPTY.format || !Array.isArray(value.answers)) throw new LdpsqlError("ledger", "the ledger is damaged or of another version; nothing was sent");
      const state = structuredClone(value);
      result = change(state);
      return state;
    });
    return result;
  }

  /** The line of the report of a survey, drawn before or now, kept before it is returned. */
  async answer(survey, day, renewal, draw) {
    const refuse = (why) => { throw new LdpsqlError("ledger", `survey ${survey.table} ${why}; nothing was sent`); };
    // In a change of its own: after a refusal, too, the clock cannot be set back.
    const latest = await this.#change((state) => {
      const isNear = !state.latest || Date.parse(day) - Date.parse(state.latest) <= this.longestAbsence * MILLISECONDS_A_DAY;
      return (state.latest = state.latest > day || !isNear ? state.latest : day);
    });
    if (latest < day) refuse(`is not answered, as the clock says ${day}, more than ${this.longestAbsence} days after ${latest}, the latest day seen: set the clock, or allow a longer absence`);
    return this.#change((state) => {
      if (!survey.isOpen(latest)) refuse(`is not answered on ${latest}`);
      const period = survey.periodOf(latest) ?? "", { fingerprint, chain, promise } = survey;
      const known = state.answers.find((answer) => answer.survey === fingerprint && answer.period === period);
      if (known) {
        if (latest > survey.lastSendingDay(known.day)) refuse("was answered so long ago that its report is not sent again");
        return known.line;
      }
      if (survey.first && !survey.author) refuse("is a later round that its author has not signed");
      if (state.answers.some((answer) => (answer.chain === chain || answer.survey === survey.first) && answer.survey !== fingerprint)) refuse("is another round of one that was answered");
      if (!promise.epsilon) refuse("promises no privacy, which no budget covers");
      const since = renewal === "day" ? latest : renewal === "month" ? `${latest.slice(0, 8)}01` : "";
      const sum = (key, name) => state.answers.filter((answer) => answer.day >= since && (!name || answer.names.includes(name))).reduce((total, answer) => add(total, decimal(answer[key])), NOTHING);
      const names = [...survey.schema.privateNames];
      for (const [budget, name] of [[this.total], ...names.map((name) => [this.perAttribute, name])]) {
        if (exceeds(add(sum("epsilon", name), promise.epsilon), budget)) refuse(`asks for epsilon ${promise.epsilonText}, but ${decimalText(sum("epsilon", name))} of ${decimalText(budget)} is spent${name ? ` for ${name}` : ""}`);
      }
      if (exceeds(add(sum("delta"), promise.delta), this.delta)) refuse("asks for a larger delta than is left");
      const open = survey.recordColumns.find(({ name }) => state.answers.some((answer) => answer.names.includes(name)));
      if (open) refuse(`asks for ${open.name} in clear, which was answered as private`);
      const line = draw(latest), [top, bottom] = promise.delta;
      state.answers.push({ survey: fingerprint, chain, period, day: latest, until: survey.lastSendingDay(latest), epsilon: promise.epsilonText, delta: decimalText([top, bottom], 30), names, line, isSent: false });
      return line;
    });
  }

  /** The reports that are still to be sent on a day, as {survey, line}. */
  pending(day) {
    return this.#change(({ answers }) => answers.filter(({ isSent, until }) => !isSent && until >= day).map(({ survey, line }) => ({ survey, line })));
  }

  /** Send these lines no more: the collector has them, or will never take them. */
  settle(lines) {
    return this.#change(({ answers }) => {
      for (const answer of answers) answer.isSent ||= lines.includes(answer.line);
    });
  }
}
