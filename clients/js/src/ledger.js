/** What a person has given so far, and which reports are still to be sent: one value in a store. */

import { DAY } from "./days.js";
import { LdpsqlError } from "./json.js";
import { expect, readNumber, refuse, requireBelieved } from "./policy.js";
import { NOTHING, add, decimal, decimalText, exceeds } from "./rational.js";
import { hashText, toHex } from "./sha256.js";
import { startOf } from "./survey.js";

const FORMAT = 4;

/**
 * A checksum of 64 bits, FNV-1a with two multipliers, which differs wherever one character does.
 *
 * It finds accidents, and is there because SHA-256 in JavaScript takes 25 times as long: 26 ms for
 * 1,000 answers, and a change needs two.
 */
export function checksum(text) {
  let one = 0x811c9dc5, other = 0x9dc5811c;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    one = Math.imul(one ^ unit, 0x01000193);
    other = Math.imul(other ^ unit, 0x85ebca6b);
  }
  return `${one >>> 0}:${other >>> 0}`;
}

/** What a store keeps: the state as a text, so that a store may keep keys in any order. */
function seal(state) {
  const text = JSON.stringify(state);
  return { format: FORMAT, checksum: checksum(text), text };
}

function refuseDamaged() {
  throw new LdpsqlError("ledger", "the ledger is damaged or of another version: restore a copy, or delete it, which forgets what was given; nothing was sent");
}

/**
 * Budgets of one person, kept in a store.
 *
 * store: {update(change)}, which gives `change` the last value (undefined at first), keeps what it
 * returns before it resolves, and lets no two changes overlap.  total: the largest sum of epsilons.
 * perAttribute: the largest sum over the surveys that ask about one attribute.  delta: the largest
 * sum of deltas.  totalLocal, shuffledDelta: of reports that went to trusted shufflers alone, the
 * largest sum of the epsilons of reports by themselves, which those learn, and of deltas; the others
 * count them as they are once shuffled.  longestAbsence: days by which the clock may be ahead of the
 * latest day ever seen.
 *
 * Names of attributes are kept as salted hashes.
 */
export class Ledger {
  #store;

  constructor(store, { total, perAttribute, delta = 0, totalLocal = 8, shuffledDelta = "1e-3", longestAbsence = 366 } = {}) {
    expect(Number.isSafeInteger(longestAbsence) && longestAbsence > 0, "longestAbsence is a number of days, at least 1");
    this.#store = store;
    Object.assign(this, { longestAbsence, total: readNumber(total, "total"), perAttribute: readNumber(perAttribute, "perAttribute"), delta: readNumber(delta, "delta"), totalLocal: readNumber(totalLocal, "totalLocal"), shuffledDelta: readNumber(shuffledDelta, "shuffledDelta") });
    Object.freeze(this);
  }

  /** Change the state; what is thrown inside leaves it as it was. */
  async #change(change) {
    let result;
    await this.#store.update((value = seal({ latest: "", answers: [] })) => {
      // A state of the last format is one of this in which nothing went to a shuffler.
      if (![3, FORMAT].includes(value?.format) || typeof value.text !== "string" || checksum(value.text) !== value.checksum) refuseDamaged();
      const state = JSON.parse(value.text);
      result = change(state);
      return seal(state);
    });
    return result;
  }

  /** The line of the report of a survey, drawn before or now, kept before it is returned. */
  async answer(...asked) {
    // After a refusal, too, the day and the statement are kept, or a clock could be set back.
    const { line, refusal } = await this.#change((state) => {
      try {
        return { line: this.#give(state, ...asked) };
      } catch (refusal) {
        return { refusal };
      }
    });
    if (refusal) throw refusal;
    return line;
  }

  #give(state, survey, day, renewal, draw, random, statement, pledge, ended) {
    const demand = (holds, why, kind = "not allowed") => holds || refuse(kind, survey, why), spent = "budget spent";
    const drawBytes = (count) => {
      const bytes = new Uint8Array(count);
      random(bytes);
      return bytes;
    };
    const isNear = !state.latest || Date.parse(day) - Date.parse(state.latest) <= this.longestAbsence * DAY;
    const latest = (state.latest = state.latest > day || !isNear ? state.latest : day);
    demand(latest >= day, `is not answered, as the clock says ${day}, more than ${this.longestAbsence} days after ${latest}, the latest day seen (longestAbsence)`);
    if (statement) {
      requireBelieved(statement, survey, latest);
      const { author, table, issued, fingerprint } = statement, key = `${author}:${table}`, said = issued + fingerprint, all = (state.statements ??= {});
      if (!(all[key]?.slice(0, issued.length) >= issued)) all[key] = said;
      demand(all[key] === said, "is older than one that its author was seen to ask");
    }
    pledge?.requireDay(survey, latest);
    demand(survey.isOpen(latest), `is not answered on ${latest}`);
    const { fingerprint, chain, promise, first } = survey, { epsilon, delta } = pledge ? promise.shuffle : promise, recipient = pledge?.recipient, { answers } = state, period = ended ?? survey.periodOf(latest) ?? "", until = survey.lastSendingDay(latest);
    const known = answers.find((answer) => answer.survey === fingerprint && answer.period === period);
    if (known) {
      demand(known.recipient === recipient, "was answered to another shuffler, or key, or to none, and the report is sent to nobody else");
      demand(latest <= known.until, "was answered so long ago that its report is not sent again");
      try { survey.checkReport(known.line); } catch { refuseDamaged(); }
      return known.line;
    }
    const { sample } = survey;
    if (sample) {
      // In which of so many periods it answers, is drawn once among all of them, and kept for later versions of the survey.
      const key = `${survey.author ?? ""}:${survey.table}:${sample}`, offsets = (state.offsets ??= {});
      offsets[key] ??= drawBytes(6).reduce((sum, byte) => 256 * sum + byte, 0) % sample;
      demand(offsets[key] === survey.turnOf(period), `asks this device in one of ${sample} ${survey.period}s, and not in this one`, "not asked");
    }
    demand(!first || survey.author, "is a later round that its author has not signed");
    demand(!answers.some((answer) => (answer.chain === chain || answer.survey === first) && answer.period === period && answer.survey !== fingerprint), "is another round of one that was answered");
    demand(epsilon, "promises no privacy, which no budget covers", spent);
    state.salt ||= toHex(drawBytes(16));
    const hash = (name) => hashText(state.salt + name), since = renewal ? startOf(renewal, latest) : "", names = [...survey.schema.names];
    const isLeft = (key, asked, budget, what, counts = () => true) => {
      const charged = answers.filter((answer) => answer.day >= since && counts(answer)).reduce((sum, answer) => add(sum, decimal(answer[key])), NOTHING);
      demand(!exceeds(add(charged, asked), budget), `asks for ${key} ${decimalText(asked)}, but ${decimalText(charged)} of the budget of ${decimalText(budget)} ${what} is spent`, spent);
    };
    isLeft("epsilon", epsilon, this.total, "in all");
    for (const name of names) {
      const own = hash(name);
      isLeft("epsilon", epsilon, this.perAttribute, `for ${name}`, (answer) => answer.names.includes(own));
    }
    const isAlike = (answer) => !answer.recipient === !pledge;
    isLeft("delta", delta, pledge ? this.shuffledDelta : this.delta, "of such surveys", isAlike);
    if (pledge) isLeft("localEpsilon", promise.epsilon, this.totalLocal, "for shufflers", isAlike);
    for (const { name } of survey.recordColumns) demand(!answers.some((answer) => answer.names.includes(hash(name))), `asks for ${name} in clear, which was answered as private`);
    const line = draw(period || latest);
    answers.push({ survey: fingerprint, chain, period, day: latest, until, epsilon: decimalText(epsilon), delta: decimalText(delta), names: names.map(hash), line, isSent: false, ...(pledge && { recipient, localEpsilon: decimalText(promise.epsilon) }) });
    return line;
  }

  /** The reports that are still to be sent on a day, as {survey, line}: in clear, or those that a pledge is about, to be sealed. */
  pending(day, pledge) {
    const isMeant = ({ survey, recipient }) => recipient === pledge?.recipient && (!pledge || (survey === pledge.fingerprint && day <= pledge.until));
    return this.#change(({ answers }) => answers.filter((answer) => !answer.isSent && answer.until >= day && isMeant(answer)).map(({ survey, line }) => ({ survey, line })));
  }

  /** Send these lines no more: the collector has them, or will never take them. */
  settle(lines) {
    return this.#change(({ answers }) => {
      for (const answer of answers) answer.isSent ||= lines.includes(answer.line);
    });
  }
}
