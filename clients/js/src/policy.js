/** What an app lets any survey take, decided from the survey alone, before a record is looked at. */

import { LdpsqlError } from "./json.js";
import { decimal, exceeds } from "./rational.js";

/** A number that an app gives, exactly. */
export function readNumber(given, name) {
  const number = decimal(String(given ?? ""));
  if (!number) throw new TypeError(`${name} is a number of at least 0`);
  return number;
}

const KEYS = ["maxEpsilon", "maxDelta", "disclosure", "noGuarantee", "public", "authors", "fingerprints", "tables", "renewal"];

/** The most that a survey may take from a person; what it does not name is refused. */
export class Policy {
  constructor(given) {
    for (const key of Object.keys(given ?? {})) if (!KEYS.includes(key)) throw new TypeError(`a policy has no ${key}`);
    const { maxEpsilon, maxDelta = 0, disclosure, noGuarantee, public: open = [], authors, fingerprints, tables, renewal } = given ?? {};
    for (const names of [open, authors, fingerprints, tables]) {
      if (names !== undefined && !Array.isArray(names)) throw new TypeError("public, authors, fingerprints and tables are arrays of texts");
    }
    if (![undefined, "day", "month"].includes(renewal)) throw new TypeError("renewal is day or month");
    Object.assign(this, {
      maxEpsilon: readNumber(maxEpsilon, "maxEpsilon"), maxDelta: readNumber(maxDelta, "maxDelta"),
      disclosure: disclosure === true, noGuarantee: noGuarantee === true, public: open, authors, fingerprints, tables, renewal,
    });
    Object.freeze(this);
  }

  /**
   * Throw, for what the survey says, unless it takes no more than this on this day.
   *
   * verify: (author, signature, text) => whether the Ed25519 signature is valid, or a promise of it;
   * missing, surveys of named authors are refused.
   */
  async require(survey, day, verify) {
    const refuse = (why) => { throw new LdpsqlError("policy", `survey ${survey.table} ${why}; nothing was sent`); };
    const { promise, author, fingerprint, table } = survey;
    for (const [name, allowed, own] of [["name", this.tables, table], ["fingerprint", this.fingerprints, fingerprint], ["author", this.authors, author]]) {
      if (allowed && !allowed.includes(own)) refuse(`has another ${name} than those that the policy allows`);
    }
    const open = survey.recordColumns.map(({ name }) => name).filter((name) => !this.public.includes(name));
    if (open.length) refuse(`sends ${open.join(", ")} in clear, which the policy does not allow`);
    if (promise.kind === "none" && !this.noGuarantee) refuse("is not differentially private");
    if (promise.epsilon && exceeds(promise.epsilon, this.maxEpsilon)) refuse(`asks for epsilon ${promise.epsilonText} of every report, more than the policy allows`);
    if (exceeds(promise.delta, this.maxDelta)) refuse("may send answers in clear, more often than the policy allows");
    if (promise.kind.startsWith("uldp") && !this.disclosure) refuse("does not protect all values");
    // A later round is its author's, whoever is trusted.
    if (author && (this.authors || survey.first || verify)) {
      if (!verify || (await verify(author, survey.signature, survey.signedText)) !== true) refuse("has no signature of its author that can be checked here");
    }
    if (!survey.isOpen(day)) refuse(`is not answered on ${day}`);
  }
}
