/** A shuffler that a person trusts: what it signs about a survey, and reports that it alone can read. */

import { day } from "./days.js";
import { count, largestBelief, small } from "./describe.js";
import { seal } from "./hpke.js";
import { LdpsqlError, check, parseJson } from "./json.js";
import { refuse } from "./policy.js";
import { readShuffle } from "./promise.js";
import { decimalText, exceeds } from "./rational.js";
import { toHex } from "./sha256.js";
import { hex, object, oneOf } from "./shapes.js";
import { signedText, signer } from "./signed.js";

const INFO = "ldpsql sealed report 1";
const readPledge = object({ ldpsql_pledge: oneOf(1), fingerprint: hex(64), shuffle: readShuffle, until: day, encryption: hex(64), shuffler: signer, signature: hex(128) });

/** A shuffler's pledge for one survey: see docs/format.md#pledge. */
export class Pledge {
  /** From the text of a pledge, whose signature is checked when it is needed. LdpsqlError says what is wrong with it. */
  constructor(text) {
    const data = parseJson(text);
    Object.assign(this, readPledge(data, ""), { signedText: signedText(data) });
    Object.freeze(this);
  }

  /** What a shuffler says about a survey. collector: a `Collector` of the shuffler's address. */
  static async fetch(collector, { fingerprint }) {
    const response = await collector.fetch(`${collector.url}/v1/surveys/${fingerprint}/pledge`, { credentials: "omit", referrerPolicy: "no-referrer" });
    if (!response.ok) throw new LdpsqlError("survey", `the shuffler has no pledge about this survey (${response.status})`);
    return new Pledge(await response.text());
  }

  /** Who alone may get a report that was given because of it: both keys of the shuffler. */
  get recipient() {
    return `${this.shuffler}:${this.encryption}`;
  }

  /** What is wrong with it as a pledge of at least what a survey promises once shuffled; nothing if it fits. */
  misfit({ fingerprint, author, promise: { epsilon, delta, shuffle: claimed }, schema }) {
    const { users, honest, ...own } = this.shuffle;
    if (this.fingerprint !== fingerprint) return "is about another survey";
    if (!claimed || !epsilon || delta[0] || schema.public.length) return "is about a survey that no shuffler hides: it sends something in clear";
    if (this.shuffler === author) return "is by the survey's own author, who cannot hide reports from themselves";
    if (users < claimed.users || exceeds(honest, claimed.honest)) return `is about batches of ${users} reports, ${decimalText(honest)} of them honest; the survey says ${claimed.users} and ${decimalText(claimed.honest)}`;
    return exceeds(own.epsilon, claimed.epsilon) || exceeds(own.delta, claimed.delta) ? "promises less than the survey" : undefined;
  }

  /** Throw unless it is by a shuffler that a policy names, and fits the survey, which takes no more than the policy allows of shuffled reports. */
  async require(survey, { shufflers, maxLocalEpsilon, maxShuffledDelta }, verify) {
    const demand = (holds, why) => holds || refuse("not allowed", survey, why);
    demand(shufflers?.includes(this.shuffler), "comes with the pledge of a shuffler that the policy does not name (shufflers)");
    const misfit = this.misfit(survey), { epsilon, shuffle } = survey.promise;
    demand(!misfit, `comes with a pledge that ${misfit}`);
    demand(!exceeds(epsilon, maxLocalEpsilon), `tells its shuffler a report of epsilon ${decimalText(epsilon)} by itself, and the policy allows ${decimalText(maxLocalEpsilon)} (maxLocalEpsilon)`);
    demand(!exceeds(shuffle.delta, maxShuffledDelta), `has delta ${decimalText(shuffle.delta)} once shuffled, and the policy allows ${decimalText(maxShuffledDelta)} (maxShuffledDelta)`);
    demand(await this.#isSigned(verify), "comes with a pledge whose signature cannot be checked here, or is not the shuffler's (verify)");
    // Or the report would be drawn before it is known that it cannot be sealed.
    await this.seal("");
  }

  /** Throw on a day after the last one on which it is believed. */
  requireDay(survey, day) {
    if (day > this.until) refuse("not allowed", survey, `comes with a pledge that ended on ${this.until}, and this device's day is ${day}: ask the shuffler again, and check the clock`);
  }

  async #isSigned(verify) {
    return Boolean(verify) && (await verify(this.shuffler, this.signature, this.signedText)) === true;
  }

  /** A report of the survey as it may leave the device, encrypted anew each time. */
  async seal(line) {
    return `{"sealed":"${toHex(await seal(line, this.encryption, INFO, this.fingerprint))}"}`;
  }

  /** What is promised if the shuffler is honest, and what if it is not. */
  async describe(survey, verify) {
    check(!this.misfit(survey) && (await this.#isSigned(verify)), "the pledge", "must be signed by its shuffler (verify), and fit the survey");
    const { epsilon, delta, people } = survey.promise.shuffle;
    return `, encrypted. Only a shuffler can read it, the owner of the key ${this.shuffler}. Until ${this.until} it pledges to pass on only mixed reports, ${count(this.shuffle.users)} or more at a time. If it keeps to that, yours is hidden among those of ${count(people - 1n)} other honest people and has epsilon ${decimalText(epsilon)}, delta ${small(delta)}: a belief of 50 % about your answers can rise to ${largestBelief(epsilon)} % at most, but for a chance of ${small(delta)}. If it does not, others can learn as much as it does.`;
  }
}
