/** A survey in plain words, for a screen on which a person is asked to take part. */

import { decimal, decimalText, multiply } from "./rational.js";
import { largestBelief } from "./survey.js";

const FEW = 8, LONGEST = 40;

/** Whatever looks like a quotation mark; shown as one that ends nothing. */
const QUOTATION_MARK = /["\u201c-\u201f\u2033\u2036\u275d\u275e\u301d-\u301f\uff02\u02ba\u02ee\u05f4]/;

/** A text as a survey has it, cut short, without what cannot be seen; no quotation mark in it ends it. */
function quote(value) {
  if (typeof value !== "string") return String(value);
  const seen = [...value].slice(0, LONGEST).map((c) => (QUOTATION_MARK.test(c) ? '\\"' : c === "\\" ? "\\\\" : /[\p{C}\p{Zl}\p{Zp}]/u.test(c) ? `\\u{${c.codePointAt(0).toString(16)}}` : c));
  return `"${seen.join("")}${[...value].length > LONGEST ? "..." : ""}"`;
}

const list = (values) => values.slice(0, FEW).map(quote).join(", ") + (values.length > FEW ? ` and ${values.length - FEW} more` : "");
const named = ({ name, label }) => (label === undefined ? name : `${name} ${quote(label)}`);
const countsAs = { nearest: "any other value counts as the nearest", random: "any other value counts as a random one", other: "any other value counts as other" };

function asked({ dimensions, measures }) {
  const columns = dimensions.map((d) => {
    const values = d.domain.values ? list(d.domain.values) : `one of ${d.declared} bins of ${d.domain.words}`;
    return `${named(d)} (${values}; ${countsAs[d.outside]}, none as ${d.missing === "code" ? "missing" : "a random one"})`;
  });
  return [...columns, ...measures.map((m) => `${named(m)} (a number from ${m.bounds[0]} to ${m.bounds[1]}; any other counts as the nearer of these)`)].join("; ");
}

function leaving({ promise, schema }) {
  if (!promise.epsilon) return "one randomized report. Nothing is promised: it can give your answers away.";
  const belief = decimalText(multiply(largestBelief(promise.epsilon), [100n, 1n]), 0);
  const parts = [`one randomized report. By itself it has epsilon ${promise.epsilonText}: by it a belief of 50 % about your answers becomes at most ${belief === "100" ? "almost 100" : belief} %.`];
  if (promise.delta[0]) parts.push(`With probability ${Number(promise.delta[0]) / Number(promise.delta[1])} your answers are sent in clear.`);
  const partly = schema.dimensions.filter(({ sensitive }) => sensitive.length).map(({ name }) => name);
  if (promise.kind !== "local") parts.push(`This holds for what the survey calls sensitive in ${partly.join(", ")}; other values may be given away.`);
  if (promise.shuffle) parts.push(`Its author claims epsilon ${promise.shuffle.epsilon} for whoever sees it mixed with those of ${promise.shuffle.users} people. This device cannot check that.`);
  return parts.join(" ");
}

function howOften({ period, validity, first, promise }) {
  const count = { day: 365n, month: 12n }[period], parts = ["once; asked again, the same report is sent again."];
  if (period) parts[0] = `once in every ${period}, which is sent along.`;
  if (period && promise.epsilon) parts.push(`Every answer counts: ${count} in a year have epsilon ${decimalText(multiply(decimal(promise.epsilonText), [count, 1n]))} together.`);
  if (first) parts.push("It is a later round of a survey, of which one round is answered.");
  if (validity.until) parts.push(`Nothing is sent after ${validity.until}.`);
  return parts.join(" ");
}

/** What is asked, what leaves the device and what may be concluded from it, and what is not covered. */
export function describe(survey) {
  const open = survey.recordColumns.map(named).join(", ");
  return [
    `Survey ${named({ name: survey.table, label: survey.label })}`,
    `Asked, to be randomized here: ${asked(survey.schema)}.`,
    `What leaves this device: ${leaving(survey)}`,
    `In clear: ${open ? `${open}, without any protection.` : "nothing of your record."}`,
    `How often: ${howOften(survey)}`,
    `Who asks: ${survey.author ? `allegedly the owner of the key ${survey.author}.` : "unknown; nobody has signed this survey."}`,
    "Not covered: that you took part, when, and from which address. Who answers several surveys gives away the sum of their epsilons.",
  ].join("\n");
}
