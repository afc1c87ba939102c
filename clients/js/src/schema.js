/** Columns: which values they hold, and the code of every value. See docs/format.md#columns. */

import { DAY, day, isoDay, momentOf } from "./days.js";
import { check } from "./json.js";
import { is, list, object, oneOf, text, variant, whole } from "./shapes.js";

export const WORDS = 1n << 64n;
export const OTHER = "(other)";
const MOST_CODES = 2 ** 20;
const INSIDE = 0, OUTSIDE = 1, MISSING = 2;

// -- numbers and moments --------------------------------------------------------------------------

const isInfinite = (value) => value === Infinity || value === -Infinity;

/** A reader of doubles. */
const real = (data, where) => {
  check(typeof data === "string" && data.length <= 40 && /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/.test(data) && !isInfinite(Number(data)), where, "must be a decimal string, of a double");
  return Number(data);
};

/** A reader of whole numbers, as BigInt. */
const integer = (data, where) => {
  check(Number.isInteger(data) || (typeof data === "string" && /^-?(0|[1-9]\d{0,38})$/.test(data)), where, "must be a whole number");
  const number = BigInt(data);
  check(number ** 2n < 1n << 124n, where, "must lie between -2^62 and 2^62");
  return number;
};

/** A value as a whole number (infinities as numbers beyond all domains); undefined where it is none. */
const wholeOf = (value) =>
  typeof value === "bigint" ? value
    : isInfinite(value) ? BigInt(Math.sign(value)) << 70n
      : Number.isInteger(value) ? BigInt(value) : undefined;

/** A value as a double; undefined where it is no number. */
function realOf(value) {
  const number = typeof value === "bigint" ? Number(value) : value;
  return typeof number === "number" && number === number ? number : undefined;
}

/** By unit, the number of the one that holds a moment, and the first moment of one of a number. */
export const UNITS = {
  hour: [(moment) => Math.floor(moment / 36e5), (number) => number * 36e5],
  day: [(moment) => Math.floor(moment / DAY), (number) => number * DAY],
  week: [(moment) => Math.floor((moment / DAY + 3) / 7), (number) => (number * 7 - 3) * DAY],
  month: [(moment) => new Date(moment).getUTCFullYear() * 12 + new Date(moment).getUTCMonth(), (number) => Date.UTC(1970, number - 23640)],
};

// -- domains --------------------------------------------------------------------------------------

const checkSize = (count, where) => check(count >= 1 && count <= MOST_CODES, where, "must have 2 to 2^20 codes");

/**
 * A domain by its edges, ascending: code i holds edges[i] <= point < edges[i + 1].
 *
 * find: of any value the nearest code, and whether it is inside, outside or missing.
 */
function ordered(where, edges, pointOf, isClosed) {
  const count = edges.length - 1, [first] = edges, last = edges[count];
  checkSize(count, where);
  check(edges.every((edge, i) => !i || edges[i - 1] < edge), where, "must have edges that increase");
  const find = (value) => {
    const given = pointOf(value), point = given ?? first;
    let low = 0, high = count;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (edges[middle] <= point) low = middle; else high = middle;
    }
    return [low, given === undefined ? MISSING : Number(point < first || (isClosed ? point > last : point >= last))];
  };
  return { size: count, find, edges };
}

/** merged: the code of every value, where some share one. */
function listed(where, values, fits, merged = values.map((_, code) => code)) {
  const codes = new Map(values.map((value, place) => [value, merged[place]])), size = new Set(merged).size;
  check(codes.size === values.length && codes.size <= MOST_CODES, where, "must have values that differ, 2^20 of them at most");
  const find = (value) => {
    const given = typeof value === "bigint" && BigInt(Number(value)) === value ? Number(value) : value, isFit = fits(given);
    const code = codes.get(isFit ? given : values[0]);
    return [code ?? 0, isFit ? Number(code === undefined) : MISSING];
  };
  return { size, find, values, merged };
}

/** So many edges from a rule, and the last one. */
function series(where, count, rule, last) {
  checkSize(count, where);
  return [...Array.from({ length: count }, (_, i) => rule(i)), last];
}

/** A domain by its edges, or else by [low, high] and a rule. */
const byEdges = (pointOf, isClosed, rule) => (keys, where) => {
  const { domain, bins, bin_width: width, edges, scale } = keys;
  check(edges ? (domain ?? bins ?? width) === undefined : domain, where, "must have either edges or domain");
  check(!scale || edges?.[0] >= 0, where, "must have edges of at least 0 on a log scale");
  return ordered(where, edges ?? rule(where, domain, width ?? 1n, bins), pointOf, isClosed);
};

const wholeNumbers = byEdges(wholeOf, false, (where, [low, high], step) =>
  series(where, step > 0n ? Number((high - low) / step) + 1 : 0, (i) => low + BigInt(i) * step, high + 1n));

const realNumbers = byEdges(realOf, true, (where, [low, high], _, bins) => {
  check(bins, where, "must have bins");
  return series(where, bins, (i) => low + ((high - low) * i) / bins, high);
});

function moments({ type, range, edges, unit = "day" }, where) {
  const hasTime = type === "timestamp", [numberOf, startOf] = UNITS[unit];
  if (edges) {
    const points = edges.map((written) => momentOf(written, hasTime));
    const isWritten = points.every((point, i) => point !== undefined && edges[i].length === (hasTime ? 19 : 10));
    check(!range && unit === "day" && isWritten, where, "must have a range or edges, as 2026-01-31 or 2026-01-31T00:00:00");
    return ordered(where, points, (value) => momentOf(value, hasTime));
  }
  check(range, where, "must have a range");
  // A last one without a time of day includes its day.
  const [first, last] = range.map((written, end) => (hasTime ? momentOf(written, true) : undefined) ?? momentOf(written, false) + end * (DAY - 1));
  check(first <= last && (hasTime || unit !== "hour"), where, "must have a range of two days, and a unit: day, week, month, or hour of timestamps");
  const start = numberOf(first), count = numberOf(last) - start + 1;
  return ordered(where, series(where, count, (i) => startOf(start + i), startOf(start + count)), (value) => momentOf(value, hasTime));
}

function category({ values, merged }, where) {
  const kind = typeof values[0], isText = kind === "string";
  check((isText || kind === "number") && values.every((value) => typeof value === kind), where, "must have values that are all texts or all whole numbers");
  return listed(where, values, (value) => (isText ? typeof value === kind : typeof value === "bigint" || Number.isInteger(value) || isInfinite(value)), merged && checkMerged(merged, values.length, where));
}

/** Codes of values, each first used after all below it, and one of them twice. */
function checkMerged(merged, count, where) {
  let next = 0;
  const isNumbered = merged.every((code) => code <= next && (next = Math.max(next, code + 1)));
  check(isNumbered && merged.length === count && next < count, where, "must have merged codes of all values, each first used after all below it, and some code twice");
  return merged;
}

/** By type, its domain, its keys, and what values count as that are not in the domain. */
const any = (data) => data, ofTime = [moments, { range: [list(any, 2, 2)], unit: [oneOf(...Object.keys(UNITS))], edges: [list(any)] }];
const TYPES = {
  int: [wholeNumbers, { domain: [list(integer, 2, 2)], bin_width: [integer], edges: [list(integer)], scale: [oneOf("log")] }],
  float: [realNumbers, { domain: [list(real, 2, 2)], bins: [whole(1, MOST_CODES)], edges: [list(real)], scale: [oneOf("log")] }],
  category: [category, { values: list(any), merged: [list(whole(0, MOST_CODES))] }],
  bool: [(_, where) => listed(where, [false, true], (value) => typeof value === "boolean"), {}],
  date: ofTime,
  timestamp: ofTime,
};

// -- columns --------------------------------------------------------------------------------------

/** A reader of names of columns and tables, none of which look alike. */
export const name = text(/^(?!ldpsql_)[a-z_][a-z0-9_]{0,62}$/, "a name: at most 63 of a-z, 0-9 and _, no digit first, and not the prefix ldpsql_");

const UNSEEN = /[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u{f0000}-\u{10ffff}]/u;

/** A reader of texts for people, which can stand beside a name. */
export const label = is((data) => typeof data === "string" && data && [...data].length <= 200 && data === data.trim() && !UNSEEN.test(data), "a label: 1 to 200 characters, none of them invisible");

/** What becomes of events: see docs/format.md#events. */
const event = [text(/^(count|days|seen|last|largest|p[1-9]\d?)( of [a-z_][a-z0-9_]{0,62})?$/, "an event")];

const readDimensionKeys = variant(
  "type",
  Object.fromEntries(Object.entries(TYPES).map(([type, [, keys]]) => [type, type === "bool" ? keys : { ...keys, outside: [oneOf("nearest", "random", "other")] }])),
  { name, label: [label], event, missing: [oneOf("random", "code")], sensitive: [list(any, 1)], sensitive_missing: [is((data) => typeof data === "boolean", "true or false")] },
);

function readDimension(data, where) {
  const keys = readDimensionKeys(data, where), { type, missing, sensitive, sensitive_missing: withMissing } = keys;
  const domain = TYPES[type][0](keys, where), { size: declared, values } = domain, { outside = values ? "random" : "nearest" } = keys;
  check(outside === "random" || (outside === "other" ? (type === "category" ? !values.includes(OTHER) : type === "int" && missing === "code") : !values), where, "must count what is outside as nearest (in order), random, or other (categories, and whole numbers with missing = code)");
  check(declared >= 2, where, "must have at least two declared codes");
  const known = declared + (!!values && outside === "other"), hasNull = missing === "code", count = known + hasNull;
  let codes = [];
  if (sensitive) {
    codes = sensitive.map((value) => {
      const [code, place] = domain.find(type === "int" ? integer(value, `${where}.sensitive`) : value);
      const isOwn = (values && domain.merged.filter((own) => own === code).length === 1) || (type === "int" && domain.edges[code + 1] - domain.edges[code] === 1n);
      check(isOwn && place === INSIDE, where, "must list as sensitive declared values with a code of their own");
      return code;
    });
    check(new Set(codes).size === codes.length, where, "must list its sensitive values, each once");
    for (let code = declared; code < count; code++) if (code < known || withMissing !== false) codes.push(code);
    if (codes.length === count) codes = [];
  }
  check(withMissing === undefined || (sensitive && (withMissing || (hasNull && (values || outside !== "other")))), where, "must have sensitive_missing only beside sensitive, and false only where missing = code");
  // By where a value stands: its nearest code, the drawn one, the one of others, and that of NULL.
  const places = [0, ["nearest", "random", "other"].indexOf(outside), hasNull ? 3 : 1];
  const find = (value, drawn) => {
    const [nearest, place] = domain.find(value);
    return [[nearest, drawn, declared, known][places[place]], place];
  };
  return { ...keys, domain, declared, size: count, outside, hasNull, sensitive: codes, find };
}

/** A double as a whole multiple of 2^-1074. */
function exact(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  const bits = view.getBigUint64(0), exponent = (bits >> 52n) & 2047n, fraction = bits & ((1n << 52n) - 1n);
  const magnitude = exponent ? (fraction | (1n << 52n)) << (exponent - 1n) : fraction;
  return bits >> 63n ? -magnitude : magnitude;
}

const readMeasureKeys = object({ name, label: [label], event, bounds: list(real, 2, 2), levels: [whole(2, 1024)], rounding: [oneOf("linear", "quadratic")], missing: [oneOf("code")], missing_as: [real] });

function readMeasure(data, where) {
  const keys = readMeasureKeys(data, where), [low, high] = keys.bounds, { levels = 2, rounding = "linear" } = keys;
  check(-1e300 < low && low < high && high < 1e300, where, "must have bounds below 1e300, the lower one first");
  const isLinear = rounding === "linear";
  check(isLinear || levels > 2, where, "must have at least 3 levels for quadratic rounding");
  const bottom = exact(low), span = exact(high) - bottom, scale = BigInt(isLinear ? levels - 1 : levels - 2) * WORDS;
  const { missing, missing_as: standIn } = keys, hasNull = missing === "code";
  check(standIn === undefined || (!hasNull && low <= standIn && standIn <= high), where, "must have missing, or missing_as within the bounds");
  // The number's place among the levels, in 2^-64 of a step.
  const placeOf = (number) => ((exact(number) - bottom) * scale) / span;
  const placeOfMissing = standIn === undefined ? scale / 2n : placeOf(standIn);
  const threshold = (value) => {
    const given = realOf(value), number = clamp(given ?? low, keys.bounds), found = placeOf(number);
    return given === undefined ? [placeOfMissing, MISSING] : [found, Number(number !== given)];
  };
  const level = (place, word) => {
    const step = Number(place / WORDS), rest = place % WORDS;
    if (isLinear) return step + Number(word < rest);
    // One level down from the nearest, or one up: the variance is a quarter of a step's square.
    const down = (WORDS - rest) ** 2n >> 65n, up = rest ** 2n >> 65n;
    return step + 1 - Number(word < down) + Number(word >= WORDS - up);
  };
  // The work is the same for both.
  const code = (place, standing, word) => [level(place, word), levels][Number(hasNull && standing === MISSING)];
  return { ...keys, levels, size: levels + Number(hasNull), hasNull, threshold, code };
}

const clamp = (number, [low, high] = [number, number]) => number < low ? low : number > high ? high : number;

/** By type, the JSON text of a value between the bounds of its column, if it has any; nothing for one that does not fit. */
const PUBLIC = {
  int: (value, bounds) => {
    const number = wholeOf(value);
    return number !== undefined && BigInt.asIntN(64, number) === number && String(clamp(number, bounds));
  },
  float: (value, bounds) => {
    const given = realOf(value), number = Number.isFinite(given) && clamp(given, bounds);
    // Readers take long rows of digits for whole numbers.
    return Number.isFinite(number) && (Math.abs(number) < 1e15 ? JSON.stringify(number) : number.toExponential());
  },
  text: (value) => typeof value === "string" && !/\p{Cs}/u.test(value) && JSON.stringify(value),
  bool: (value) => typeof value === "boolean" && String(value),
  date: (value) => momentOf(value, false) !== undefined && JSON.stringify(value),
  timestamp: (value) => momentOf(value, true) !== undefined && JSON.stringify(value.length < 19 ? `${value}:00` : value),
};

const readPublicKeys = object({ name, type: oneOf(...Object.keys(PUBLIC)), label: [label], event, bounds: [is(Array.isArray)] });

function readPublic(data, where) {
  const keys = readPublicKeys(data, where), { type, bounds: given } = keys, isInt = type === "int", most = isInt ? 2 ** 53 : 1e100;
  check(!given || isInt || type === "float", where, "must not have bounds, which are for numbers");
  const bounds = given && list(isInt ? whole(-most, most) : real, 2, 2)(given, where);
  check(!given || (-most <= bounds[0] && bounds[0] < bounds[1] && bounds[1] <= most), where, "must have bounds of at most 1e100, the lower one first");
  const holds = (value) => !!PUBLIC[type](value) && (!bounds || clamp(value, bounds) === value);
  return { ...keys, bounds, holds, write: (value) => PUBLIC[type](value, bounds) || "null" };
}

const readColumns = object({ dimension: list(readDimension, 0, 1000), measure: list(readMeasure, 0, 1000), public: list(readPublic, 0, 1000) });

/** The columns of a survey: dimensions, measures and public columns, checked. */
export function readSchema(data, where) {
  const { dimension: dimensions, measure: measures, public: open } = readColumns(data, where);
  const personal = [...dimensions, ...measures], all = [...personal, ...open], namesOf = (columns) => new Set(columns.map((column) => column.name));
  const names = namesOf(personal);
  for (const columns of [dimensions, measures, open]) check(namesOf(columns).size === columns.length, where, "must not have two columns of one role with the same name");
  check(personal.length && all.length <= 1000, where, "must have a dimension or a measure, and at most 1,000 columns");
  check(dimensions.reduce((sum, column) => sum + column.size, 0) <= 2 ** 22, where, "must not have more than 2^22 codes of all dimensions together");
  for (const column of open) check(!names.has(column.name), where, `must not have ${column.name} as a private and a public column`);
  for (const column of dimensions) check(["int", "float"].includes(column.type) || !measures.some((measure) => measure.name === column.name), where, `must have ${column.name}, which is a measure, as a number`);
  // Whose name or label a text is; a dimension and a measure of one name are one column.
  const owners = new Map(all.map((column) => [column.name, column.name])), labels = new Map();
  for (const column of all) {
    const own = column.label;
    if (own === undefined) continue;
    check((labels.get(column.name) ?? own) === own, where, `must not have two labels of ${column.name}`);
    labels.set(column.name, own);
    const small = own.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
    check((owners.get(small) ?? column.name) === column.name, where, `must not have a label of ${column.name} that also stands for another column`);
    owners.set(small, column.name);
  }
  let words = 0, product = 2 ** 32;
  const places = dimensions.map(({ declared }) => {
    if (product * declared > 2 ** 32) { words++; product = 1; }
    const place = [words - 1, product];
    product *= declared;
    return place;
  });
  const sizes = [...dimensions.map((column) => column.size), ...measures.map((column) => column.size)];
  return { dimensions, measures, public: open, names, labels, places, sizes, words: words + measures.length };
}

// -- records --------------------------------------------------------------------------------------

/** The value of a column of a record; undefined for one that is not there or cannot be had. */
function look(record, column) {
  try {
    return Object.hasOwn(record, column.name) ? record[column.name] : undefined;
  } catch {
    return undefined;
  }
}

/** Codes of the dimensions and of the measures, whatever a record holds, by `schema.words` words. */
export function encode({ dimensions, measures, places, words: count }, record, words) {
  const codes = dimensions.map((column, i) => {
    const [word, product] = places[i], declared = BigInt(column.declared);
    const drawn = ((words[word] * BigInt(product)) % WORDS) * declared / WORDS;
    return column.find(look(record, column), Number(drawn))[0];
  });
  const levels = words.slice(count - measures.length);
  return codes.concat(measures.map((column, i) => column.code(...column.threshold(look(record, column)), levels[i])));
}

/** The columns that travel in clear, as JSON texts. */
export const publicTexts = (columns, record) => columns.map((column) => [column.name, column.write(look(record, column))]);

/** The columns of a record that do not fit: for whoever writes an app, never to be shown to anybody. */
export function misfits({ dimensions, measures }, columns, record) {
  const places = [
    ...dimensions.map((column) => [column.name, column.find(look(record, column), 0)[1]]),
    ...measures.map((column) => [column.name, column.threshold(look(record, column))[1]]),
    ...columns.map((column) => [column.name, column.holds(look(record, column)) ? INSIDE : MISSING]),
  ];
  return [...new Set(places.filter(([, place]) => place !== INSIDE).map(([column]) => column))];
}
