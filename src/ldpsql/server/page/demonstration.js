/** What a device reads of a record, draws and sends, taken apart so that it can be shown. */

import { coinsOf, eachChoice, flatten, partOf, questionOf } from "./client/plan.js";
import { symbolOf } from "./client/draw.js";
import { DAY, isoDay } from "./client/days.js";
import { encode, misfits, OTHER } from "./client/schema.js";

const HALVES = 2 ** 32, ID_BYTES = 16;

/** The 64-bit words among the bytes that a device draws for a report. */
function wordsOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: (bytes.length - ID_BYTES) / 8 }, (_, i) => view.getBigUint64(8 * i));
}

const time = (moment) => new Date(moment).toISOString().slice(0, 16).replace("T", " ");

/** The values that a code of a dimension stands for. */
export function codeText({ type, domain: { values, edges, merged }, declared, outside }, code) {
  if (code >= declared) return values && code === declared && outside === "other" ? OTHER : "missing";
  if (values) return values.filter((_, place) => merged[place] === code).join(" or ");
  const [low, high] = edges.slice(code, code + 2);
  if (type === "int") return low === high - 1n ? String(low) : `${low} to ${high - 1n}`;
  if (type === "float") return `${low} to ${high}`;
  if (type === "date") return isoDay(low) === isoDay(high - DAY) ? isoDay(low) : `${isoDay(low)} to ${isoDay(high - DAY)}`;
  return `${time(low)} to ${time(high)}`;
}

/** The declared values of a number or a time, for a label: " (18 to 90)". */
export function extentText(column) {
  const { bounds, domain, declared } = column;
  if (bounds) return ` (${bounds.join(" to ")})`;
  return domain?.edges ? ` (${codeText(column, 0).split(" to ")[0]} to ${codeText(column, declared - 1).split(" to ").at(-1)})` : "";
}

/** The value of a level of a measure: of its levels, the first and the last stand for its bounds. */
function levelText({ bounds: [low, high], levels, rounding = "linear" }, level) {
  const step = (high - low) / (rounding === "linear" ? levels - 1 : levels - 2);
  const value = rounding === "linear" ? low + level * step : low + (level - 0.5) * step;
  return `${Number(value.toPrecision(6))} (level ${level + 1} of ${levels})`;
}

/**
 * How a device reads a record, a row per private column: its name, what it counts as, and why.
 *
 * bytes: what the device drew for the report.
 */
export function readRecord({ schema, recordColumns }, record, bytes) {
  const codes = encode(schema, record, wordsOf(bytes)), misfit = misfits(schema, recordColumns, record);
  const columns = [...schema.dimensions, ...schema.measures];
  return columns.map((column, i) => ({
    name: column.name,
    counts: column.bounds ? levelText(column, codes[i]) : codeText(column, codes[i]),
    why: misfit.includes(column.name) ? "missing or outside" : column.bounds ? "rounded at random" : "inside",
  }));
}

/** The face of a question, and the choices that ask it; of secret choices the first ones. */
function findQuestion({ faces }, question) {
  const face = faces.findLast(({ first }) => first <= question);
  let found;
  eachChoice(face, (choices) => {
    if (!found && questionOf(face, choices) === question - face.first) found = choices;
  });
  return [face, found];
}

/**
 * What a report says: the number of its question and of all questions, how likely that one is drawn,
 * the columns that it is about, and its answers.
 *
 * codes: those of the record, to show the honest answer beside the drawn one; an answer has none
 * where the device drew something besides that it does not tell.
 */
export function readReport({ plan, schema }, line, codes) {
  const { report } = JSON.parse(line), numbers = [];
  let place = 0;
  for (const width of plan.widths) numbers.push(Number(`0x${report.slice(place, (place += width / 4))}`));
  const [face, choices] = findQuestion(plan, numbers[0]), isTold = face.steps.every(({ secret }) => !secret);
  const ofFace = plan.choice.preimages[plan.faces.indexOf(face)] / HALVES;
  const chance = face.steps.reduce((share, { preimages, secret }, s) => (secret ? share : (share * preimages[choices[s]]) / HALVES), ofFace);
  const coins = numbers.slice(1, 1 + coinsOf(face, choices).length), columns = [...schema.dimensions, ...schema.measures];
  place = 1 + plan.coins;
  const answers = face.parts.map((whole) => {
    const part = partOf(whole, choices), sent = numbers.slice(place, (place += part.columns)), { response: { kind, rows } } = part;
    const honest = codes && isTold ? flatten(symbolOf(plan, part, codes, coins), part.radices) : undefined;
    const common = { kind, honest, about: part.attributes.map((i) => columns[i].name) };
    if (kind === "bits") return { ...common, size: part.size, sent: [...Array(part.size).keys()].filter((bit) => (sent[bit >> 5] >>> (bit & 31)) & 1) };
    return { ...common, size: rows ? rows[0].length : part.size, sent, ...(rows && rows.length !== rows[0].length && { honest: undefined }) };
  });
  return { question: numbers[0], questions: plan.questions, chance, answers };
}

/** The codes of a record with the words that a device drew. */
export const codesOf = ({ schema }, record, bytes) => encode(schema, record, wordsOf(bytes));
