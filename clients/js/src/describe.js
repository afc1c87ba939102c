/** A survey in plain words, for a screen on which a person is asked to take part. */

import { DAY, isoDay } from "./days.js";
import { check } from "./json.js";
import { decimalText, expBelow, multiply } from "./rational.js";
import { OTHER } from "./schema.js";

const FEW = 8, LONGEST = 40, LONGEST_LABEL = 64;

/** A text as a survey has it, cut short, without what cannot be seen; nothing that looks like a quotation mark ends it. */
function quote(value, most = LONGEST) {
  if (typeof value !== "string") return String(value);
  const characters = [...value], seen = characters.slice(0, most).map((c) =>
    /["\u201c-\u201f\u2033\u2036\u275d\u275e\u301d-\u301f\uff02\u02ba\u02ee\u05f4]/.test(c) ? '\\"'
      : c === "\\" ? "\\\\"
        : /\p{C}|(?! )\p{Z}/u.test(c) ? `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}` : c);
  while ([...seen.join("")].length > most) seen.pop();
  return `"${seen.join("")}${seen.length < characters.length ? "..." : ""}"`;
}

/** A double as people write it, in so many digits at most. */
function shown(number, digits) {
  const [mantissa, exponent] = number.toExponential(digits - 1).split("e");
  return exponent < -4 || exponent >= digits ? `${Number(mantissa)}e${exponent.replace(/\d+/, (e) => e.padStart(2, "0"))}` : String(Number(number.toPrecision(digits)));
}

const list = (values) => values.slice(0, FEW).map((value) => quote(value)).join(", ") + (values.length > FEW ? ` and ${values.length - FEW} more` : "");
const named = ({ name, label }) => (label === undefined ? name : `${name} ${quote(label, LONGEST_LABEL)}`);

/** What values count as, each time with the columns, where these differ. */
function joinRules(columns, ruleOf) {
  const names = new Map();
  for (const column of columns) {
    const rule = ruleOf(column);
    if (rule) names.set(rule, [...(names.get(rule) ?? []), column.name]);
  }
  return [...names].map(([rule, those]) => (names.size > 1 ? `${rule} for ${those.join(", ")}` : rule)).join("; ");
}

/** The first and the last of values in order. */
function extent(type, edges) {
  const time = (moment) => new Date(moment).toISOString().slice(0, 19).replace("T", " ");
  const [first, last] = [edges[0], edges.at(-1)];
  return {
    int: () => `[${first}, ${last - 1n}]`,
    float: () => `[${shown(first, 15)}, ${shown(last, 15)}]`,
    date: () => `[${isoDay(first)}, ${isoDay(last - DAY)}]`,
    timestamp: () => `[${time(first)}, ${time(last)})`,
  }[type]();
}

const valuesOf = ({ domain: { values }, outside }) => values && (outside === "other" ? [...values, OTHER] : values);

function describeValues(column) {
  const { bounds, domain, declared, type, hasNull, event } = column, values = bounds || valuesOf(column);
  const text = (event ? `from events, ${event}: ` : "") + (bounds ? `a number from ${shown(bounds[0], 15)} to ${shown(bounds[1], 15)}` : values ? list(values) : `one of ${declared} bins of ${extent(type, domain.edges)}`);
  return text + (hasNull ? ", or missing" : "");
}

function asked({ dimensions, measures, labels }) {
  const columns = [...dimensions, ...measures], even = "a value drawn evenly", rules = { nearest: "the nearest value", random: even, other: `the value ${OTHER}` };
  const outside = joinRules(columns, ({ bounds, type, outside: rule }) => (bounds ? "the nearer bound" : rule === "other" && type === "int" ? "missing (NULL)" : type !== "bool" && rules[rule]));
  const missing = joinRules(columns, ({ levels, hasNull, missing_as: standIn }) => (
    hasNull ? "missing (NULL)" : standIn !== undefined ? shown(standIn, 15) : levels === 2 ? "a bound drawn evenly" : levels ? "the middle of the bounds" : even));
  const said = columns.map((column) => `${named({ name: column.name, label: labels.get(column.name) })} (${describeValues(column)})`).join("; ");
  return `${said}.${outside && ` A value outside counts as ${outside}.`} A missing value counts as ${missing}.`;
}

/** e^epsilon / (1 + e^epsilon), what a belief of one half can become by a report, rounded up to as many digits as show that it is not certainty. */
export function largestBelief(epsilon) {
  const [top, bottom] = expBelow(epsilon);
  for (let digits = 0, scale = 100n; ; digits++, scale *= 10n) {
    const share = (top * scale + top + bottom - 1n) / (top + bottom);
    if (share < scale) return String(share).replace(new RegExp(`(?=.{${digits}}$)`), digits ? "." : "");
  }
}

/** A whole number as people write it. */
export const count = (number) => String(number).replace(/\B(?=(...)+$)/g, ",");
export const small = (number) => shown(Number(decimalText(number, 60)), 3);

function sensitiveOf(column) {
  const { name, sensitive, domain: { edges, merged = [] }, declared } = column, values = valuesOf(column) ?? edges.slice(0, -1);
  // (other) is no declared value, and has the code behind theirs.
  const own = values.filter((value, place) => sensitive.includes(merged[place] ?? (merged.length ? declared : place)));
  return `${name} ${list(own)}${own.length < sensitive.length ? ", or missing" : ""}`;
}

function promised({ promise: { kind, epsilon, delta, shuffle }, schema: { dimensions } }, pledge) {
  if (!epsilon) return "Nothing is promised: it can give your answers away.";
  let text = `By itself it has epsilon ${decimalText(epsilon)}: a belief of 50 % about your answers can rise to ${largestBelief(epsilon)} % at most.`;
  if (delta[0]) text += ` With probability ${small(delta)} your answers are sent in clear.`;
  if (kind !== "local") text += ` This holds for what the survey calls sensitive, ${dimensions.filter(({ sensitive }) => sensitive.length).map(sensitiveOf).join("; ")}; other values may be given away.`;
  if (kind === "uldp-joint") text += " One that is given away can also hint at a sensitive one that goes with it.";
  if (shuffle && !pledge) text += ` Its author claims that whoever sees it only mixed with those of ${count(shuffle.people - 1n)} honest people learns less: epsilon ${decimalText(shuffle.epsilon)}, delta ${small(shuffle.delta)}. This device cannot check that.`;
  return text;
}

function howOften({ period, sample, validity, first, promise: { epsilon } }) {
  const periods = { day: 365, week: 52, month: 12 }[period], count = Math.ceil(periods / (sample ?? 1));
  let text = period ? `once in every ${period}, which is sent along.` : "once; asked again, the same report is sent again.";
  if (sample) text = `once in ${sample} ${period}s. This device draws once in which of them, and keeps to it. The ${period} is sent along.`;
  if (period && epsilon) text += ` Every answer counts: ${count} in ${sample || period === "week" ? `any ${periods} ${period}s in a row` : "a year"} have epsilon ${decimalText(multiply(epsilon, [BigInt(count), 1n]))} together.`;
  if (first) text += " It is a later round of a survey, of which one round is answered.";
  if (validity.until) text += ` Nothing is sent after ${validity.until}.`;
  return text;
}

async function whoAsks({ author, signature, signedText }, verify) {
  if (!author) return "unknown; nobody has signed this survey.";
  if (!verify) return `allegedly the owner of the key ${author}; this device cannot check that.`;
  check((await verify(author, signature, signedText)) === true, "signature", "must be its author's");
  return `the owner of the key ${author}.`;
}

/**
 * What is asked, what leaves the device and what may be concluded from it, how often, until when,
 * who signed it, and what is not covered: a paragraph per line.
 *
 * Nothing of a record is in it. What a survey's author wrote is quoted, without characters that
 * cannot be seen.  verify, pledge: as for `respond`; LdpsqlError for a signature that is not the author's,
 * or not the shuffler's.
 */
export async function describe(survey, { verify, pledge } = {}) {
  const open = survey.recordColumns.map(({ bounds, ...column }) => {
    const [low, high] = (bounds ?? []).map((bound) => shown(bound, 15));
    return named(column) + (bounds ? ` (moved to ${low} if lower, and to ${high} if higher)` : "");
  }).join(", ");
  return [
    `Survey ${named({ name: survey.table, label: survey.label })}`,
    `Asked, to be randomized here: ${asked(survey.schema)}`,
    `What leaves this device: one randomized report${pledge ? await pledge.describe(survey, verify) : "."} ${promised(survey, pledge)}`,
    `In clear: ${open ? `${open}, without any protection.` : "nothing of your record."}`,
    `How often: ${howOften(survey)}`,
    `Who asks: ${await whoAsks(survey, verify)}`,
    "Not covered: that you took part, when, and from which address. Who answers several surveys gives away the sum of their epsilons.",
  ].join("\n");
}
