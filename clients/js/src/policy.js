/** What an app lets any survey take, decided from the survey alone, before a record is looked at. */

import { LdpsqlError } from "./json.js";
import { decimal, decimalText, exceeds } from "./rational.js";

/** Throw what a survey is refused for. */
export function refuse(kind, survey, why) {
  throw new LdpsqlError(kind, `survey ${survey.table} ${why}; nothing was sent`);
}

/** Throw for a mistake of the app's unless something holds. */
export function expect(holds, problem) {
  if (!holds) throw new TypeError(problem);
}

/** A number that an app gives, exactly. */
export function readNumber(given, name) {
  const number = decimal(String(given ?? ""));
  expect(number, `${name} is a number of at least 0`);
  return number;
}

/** Throw unless a statement about a survey is believed on a day. */
export function requireBelieved({ issued, until }, survey, day) {
  if (issued > day || day > until) refuse("not allowed", survey, `is not what its author says is asked on ${day}, but from ${issued} to ${until}: ask again, and check the clock`);
}

const KEYS = ["maxEpsilon", "maxDelta", "disclosure", "noGuarantee", "public", "authors", "fingerprints", "tables", "renewal", "shufflers", "maxLocalEpsilon", "maxShuffledDelta"];

/** The most that a survey may take from a person; what it does not name is refused. */
export class Policy {
  constructor(given = {}) {
    for (const key of Object.keys(given)) expect(KEYS.includes(key), `a policy has no ${key}, but ${KEYS.join(", ")}`);
    for (const key of ["public", "authors", "fingerprints", "tables", "shufflers"]) expect(given[key] === undefined || Array.isArray(given[key]), `${key} is an array of texts`);
    expect([undefined, "day", "month"].includes(given.renewal), "renewal is day or month");
    Object.assign(this, {
      public: [], ...given,
      maxEpsilon: readNumber(given.maxEpsilon, "maxEpsilon"), maxDelta: readNumber(given.maxDelta ?? 0, "maxDelta"),
      maxLocalEpsilon: readNumber(given.maxLocalEpsilon ?? 8, "maxLocalEpsilon"), maxShuffledDelta: readNumber(given.maxShuffledDelta ?? "1e-4", "maxShuffledDelta"),
      disclosure: given.disclosure === true, noGuarantee: given.noGuarantee === true,
    });
    Object.freeze(this);
  }

  /**
   * Throw, for what the survey says, unless it takes no more than this on this day; give its author's
   * statement that it is asked, where one is needed, to be believed on the latest day seen.
   *
   * verify: (author, signature, text) => whether the Ed25519 signature is valid, or a promise of it;
   * missing, surveys of named authors and later rounds are refused.
   * pledge: of a shuffler; with one the largest epsilon is of reports that it has mixed.
   */
  async require(survey, day, verify, pledge) {
    const demand = (holds, why) => holds || refuse("not allowed", survey, why);
    await pledge?.require(survey, this, verify);
    const { promise, author } = survey, { kind, delta } = promise, { epsilon } = pledge ? promise.shuffle : promise;
    for (const [key, own] of [["tables", survey.table], ["fingerprints", survey.fingerprint], ["authors", author]]) {
      demand(!this[key] || this[key].includes(own), `is not among the ${key} of the policy`);
    }
    const open = survey.recordColumns.map(({ name }) => name).filter((name) => !this.public.includes(name));
    demand(!open.length, `sends ${open.join(", ")} in clear, which the policy does not allow (public)`);
    demand(epsilon || this.noGuarantee, "is not differentially private (noGuarantee, if no privacy is at stake)");
    demand(!epsilon || !exceeds(epsilon, this.maxEpsilon), `asks for epsilon ${epsilon && decimalText(epsilon)}, and the policy allows ${decimalText(this.maxEpsilon)} (maxEpsilon)`);
    demand(!exceeds(delta, this.maxDelta), "may send answers in clear, beyond the policy (maxDelta)");
    demand(!kind.startsWith("uldp") || this.disclosure, "does not protect all values (disclosure)");
    // A later round is its author's, whoever is trusted.
    if (author && (this.authors || survey.first || verify)) {
      demand(verify && (await verify(author, survey.signature, survey.signedText)) === true, "has no signature of its author that can be checked here (verify)");
    }
    demand(survey.isOpen(day), `is not answered on ${day}`);
    const { statement } = survey;
    if (!this.authors || !statement) return undefined;
    const isMeant = statement.author === author && statement.table === survey.table && statement.fingerprint === survey.fingerprint;
    demand(isMeant && (await verify(author, statement.signature, statement.signedText)) === true, "is not what its author says is asked: ask again");
    return statement;
  }
}
