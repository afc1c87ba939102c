/** Columns: which values they hold, and the code of every value. See docs/format.md#columns. */

import { require } from "./json.js";

export const WORDS = 1n << 64n;
const OTHER = "(other)";
const DAY = 864e5;
const INSIDE = 0, OUTSIDE = 1, MISSING = 2;

const isObject = (data) => typeof data === "object" && data !== null && !Array.isArray(data);

/** Require an object with these keys, and some of those, and no others. */
export function requireKeys(data, where, needed, optional = []) {
  require(isObject(data), `${where} must be an object`);
  for (const key of Object.keys(data)) {
    require([...needed, ...optional].includes(key), `${where} has the unknown key ${JSON.stringify(key.slice(0, 50))}`);
  }
  for (const key of needed) require(key in data, `${where} has no ${key}`);
}

/** Require a name of a column or a table, none of which look alike. */
export function requireName(name) {
  const fits = typeof name === "string" && /^[a-z_][a-z0-9_]{0,62}$/.test(name) && !name.startsWith("ldpsql_");
  require(fits, "a name has at most 63 of a-z, 0-9 and _, no digit first, and not the prefix ldpsql_");
}

// -- numbers and moments --------------------------------------------------------------------------

const DECIMAL = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/;

function readReal(text) {
  require(typeof text === "string" && text.length <= 40 && DECIMAL.test(text), "numbers of this column are decimal strings");
  const number = Number(text);
  require(Number.isFinite(number), "a number beyond the range of doubles");
  return number;
}

function readWhole(written) {
  const fits = Number.isInteger(written) || (typeof written === "string" && /^-?(0|[1-9]\d{0,38})$/.test(written));
  require(fits, "numbers of this column are whole");
  const number = BigInt(written);
  require(number > -(1n << 62n) && number < 1n << 62n, "a whole number beyond 2^62");
  return number;
}

/** A value as a whole number (infinities as numbers beyond all domains); undefined where it is none. */
function wholeOf(value) {
  if (typeof value === "bigint") return value;
  if (value === Infinity || value === -Infinity) return value > 0 ? 1n << 70n : -1n << 70n;
  return Number.isInteger(value) ? BigInt(value) : undefined;
}

/** A value as a double; undefined where it is no number. */
function realOf(value) {
  const number = typeof value === "bigint" ? Number(value) : value;
  return typeof number === "number" && number === number ? number : undefined;
}

const MOMENT = /^(?!0000)(\d{4}-\d\d-\d\d)(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?)?$/;

/** Milliseconds since 1970 of a date or a timestamp without a time zone; undefined for others. */
function momentOf(text, hasTime) {
  const [, day, time] = (typeof text === "string" && text.length <= 26 && MOMENT.exec(text)) || [];
  if (day === undefined || hasTime !== (time !== undefined)) return undefined;
  const start = Date.parse(`${day}T00:00Z`);
  // Some engines take the 30th of February for a day in March.
  if (!Number.isFinite(start) || new Date(start).toISOString().slice(0, 10) !== day) return undefined;
  return time ? start + (Number(time.slice(1, 3)) * 60 + Number(time.slice(4, 6))) * 6e4 + Math.floor(Number(time.slice(7) || 0) * 1e3) : start;
}

const UNITS = {
  hour: (moment) => Math.floor(moment / 36e5),
  day: (moment) => Math.floor(moment / DAY),
  week: (moment) => Math.floor((moment / DAY + 3) / 7),
  month: (moment) => new Date(moment).getUTCFullYear() * 12 + new Date(moment).getUTCMonth(),
};

/** Milliseconds since 1970 of a day that is written as 2026-01-31. */
export function dayOf(text) {
  const moment = momentOf(text, false);
  require(moment !== undefined, "a day is written as 2026-01-31");
  return moment;
}

// -- domains --------------------------------------------------------------------------------------

/**
 * A domain by its edges, ascending: code i holds edges[i] <= point < edges[i + 1].
 *
 * find: of any value the nearest code, and whether it is inside, outside or missing.
 */
function ordered(edges, pointOf, isClosed, words) {
  const size = edges.length - 1, first = edges[0], last = edges[size];
  require(size >= 1 && size <= 2 ** 20, "a domain has 2 to 2^20 codes");
  for (let i = 0; i < size; i++) require(edges[i] < edges[i + 1], "edges increase");
  const find = (value) => {
    const given = pointOf(value), point = given === undefined ? first : given;
    let low = 0, high = size;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (edges[middle] <= point) low = middle; else high = middle;
    }
    const isOutside = point < first || (isClosed ? point > last : point >= last);
    return [low, given === undefined ? MISSING : Number(isOutside)];
  };
  return { size, find, words, isOwn: (code) => typeof first === "bigint" && edges[code + 1] - edges[code] === 1n };
}

function listed(values, fits) {
  const codes = new Map(values.map((value, code) => [value, code]));
  require(codes.size === values.length && codes.size <= 2 ** 20, "values differ, and are at most 2^20");
  const find = (value) => {
    const given = typeof value === "bigint" && BigInt(Number(value)) === value ? Number(value) : value;
    const code = codes.get(fits(given) ? given : values[0]);
    return [code ?? 0, fits(given) ? Number(code === undefined) : MISSING];
  };
  return { size: values.length, find, values, isOwn: () => true };
}

const isPair = (pair) => Array.isArray(pair) && pair.length === 2;

function intDomain({ domain, bin_width: width = 1, edges }) {
  if (edges) return ordered(readList(edges).map(readWhole), wholeOf, false, "whole numbers");
  require(isPair(domain), "domain must be [low, high]");
  const [low, high] = domain.map(readWhole), step = readWhole(width);
  require(step > 0n && high >= low && (high - low) / step < 1n << 20n, "a domain has 2 to 2^20 codes");
  const starts = Array.from({ length: Number((high - low) / step) + 1 }, (_, i) => low + BigInt(i) * step);
  return ordered([...starts, high + 1n], wholeOf, false, `numbers from ${low} to ${high}`);
}

function floatDomain({ domain, bins, edges }) {
  if (edges) return ordered(readList(edges).map(readReal), realOf, true, "numbers");
  require(isPair(domain), "domain must be [low, high]");
  require(Number.isInteger(bins) && bins >= 1 && bins <= 2 ** 20, "bins is a whole number from 1 to 2^20");
  const [low, high] = domain.map(readReal);
  const starts = Array.from({ length: bins }, (_, i) => low + ((high - low) * i) / bins);
  return ordered([...starts, high], realOf, true, `numbers from ${low} to ${high}`);
}

function timeDomain({ type, range, unit = "day" }) {
  const hasTime = type === "timestamp", count = Object.hasOwn(UNITS, unit) && UNITS[unit];
  require(count && (hasTime || unit !== "hour") && isPair(range), "range must be [first, last], unit one of hour, day, week, month");
  const [first, last] = range.map((text, end) => {
    const day = momentOf(text, false);
    return (hasTime ? momentOf(text, true) : undefined) ?? (day === undefined ? day : day + end * (DAY - 1));
  });
  require(first <= last, "range must be [first, last]");
  const start = count(first), size = count(last) - start + 1;
  require(size <= 2 ** 20, "a domain has 2 to 2^20 codes");
  const find = (value) => {
    const moment = momentOf(value, hasTime), code = count(moment ?? first) - start;
    const nearest = Math.min(Math.max(code, 0), size - 1);
    return [nearest, moment === undefined ? MISSING : Number(nearest !== code)];
  };
  return { size, find, words: `${unit}s from ${range[0]} to ${range[1]}`, isOwn: () => false };
}

function readList(list) {
  require(Array.isArray(list), "values, edges and sensitive are arrays");
  return list;
}

function category({ values }) {
  const kind = typeof readList(values)[0];
  require(values.every((value) => typeof value === kind) && ["string", "number"].includes(kind), "the values of a category are all texts or all whole numbers");
  const isInfinite = (value) => value === Infinity || value === -Infinity;
  return listed(values, (value) => (kind === "string" ? typeof value === kind : typeof value === "bigint" || Number.isInteger(value) || isInfinite(value)));
}

const DOMAINS = {
  int: [intDomain, ["domain", "bin_width", "edges"]],
  float: [floatDomain, ["domain", "bins", "edges"]],
  category: [category, ["values"]],
  bool: [() => listed([false, true], (value) => typeof value === "boolean"), []],
  date: [timeDomain, ["range", "unit"]],
  timestamp: [timeDomain, ["range", "unit"]],
};

// -- attributes -----------------------------------------------------------------------------------

const UNSEEN = /[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u{f0000}-\u{10ffff}]/u;

/** Require a text for people that can stand beside a name, or none. */
export function requireLabel(label) {
  const fits = typeof label === "string" && label && [...label].length <= 200 && label === label.trim() && !UNSEEN.test(label);
  require(label === undefined || fits, "a label has 1 to 200 characters, none of them invisible");
}

function readDimension(keys) {
  const { name, type, label, missing = "random", sensitive, sensitive_missing: withMissing } = keys;
  require(typeof type === "string" && Object.hasOwn(DOMAINS, type), `type must be one of ${Object.keys(DOMAINS)}`);
  const [make, known] = DOMAINS[type], isListed = type === "category" || type === "bool";
  requireKeys(keys, `dimension ${name}`, ["name", "type"], ["label", "missing", "sensitive", "sensitive_missing", ...(type === "bool" ? [] : ["outside"]), ...known]);
  require(!("edges" in keys && ("domain" in keys || "bins" in keys || "bin_width" in keys)), "edges, or domain");
  requireLabel(label);
  const domain = make(keys), { outside = isListed ? "random" : "nearest" } = keys;
  const mayBeOther = type === "category" && typeof domain.values[0] === "string" && !domain.values.includes(OTHER);
  require(outside === "random" || (outside === "nearest" && !isListed) || (outside === "other" && mayBeOther), "outside is nearest (for ordered values), random, or other (for categories of texts)");
  require(missing === "random" || missing === "code", "missing is random or code");
  const declared = domain.size, known_ = declared + (outside === "other"), size = known_ + (missing === "code");
  require(declared >= 2, "a dimension has at least two declared codes");
  let protectedCodes = [];
  if (sensitive !== undefined) {
    require(isListed || type === "int", "sensitive is for category, bool and int");
    protectedCodes = readList(sensitive).map((value) => {
      const [code, where] = domain.find(type === "int" ? readWhole(value) : value);
      require(where === INSIDE && domain.isOwn(code), "sensitive lists declared values with a code of their own");
      return code;
    });
    require(protectedCodes.length && new Set(protectedCodes).size === protectedCodes.length, "sensitive lists values, each once");
    for (let code = declared; code < size; code++) if (code < known_ || withMissing !== false) protectedCodes.push(code);
    if (protectedCodes.length === size) protectedCodes = [];
  }
  const isSaid = withMissing === undefined || (sensitive !== undefined && (withMissing === true || (withMissing === false && missing === "code")));
  require(isSaid, "sensitive_missing is false, for missing = code");
  // By where a value stands: its nearest code, the drawn one, the one of others, and that of NULL.
  const places = [0, ["nearest", "random", "other"].indexOf(outside), missing === "code" ? 3 : 1];
  const find = (value, drawn) => {
    const [nearest, where] = domain.find(value);
    return [[nearest, drawn, declared, known_][places[where]], where];
  };
  return { name, label, type, domain, declared, size, outside, missing, sensitive: protectedCodes, find };
}

/** A double as a whole multiple of 2^-1074. */
function exact(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  const bits = view.getBigUint64(0), exponent = (bits >> 52n) & 2047n, fraction = bits & ((1n << 52n) - 1n);
  const size = exponent ? (fraction | (1n << 52n)) << (exponent - 1n) : fraction;
  return bits >> 63n ? -size : size;
}

function readMeasure(keys) {
  requireKeys(keys, `measure ${keys.name}`, ["name", "bounds"], ["label"]);
  requireLabel(keys.label);
  require(isPair(keys.bounds), "bounds must be [low, high]");
  const [low, high] = keys.bounds.map(readReal);
  require(low < high && Math.max(-low, high) < 1e300 && -high < 1e300 && low < 1e300, "bounds are numbers below 1e300, low < high");
  const bottom = exact(low), span = exact(high) - bottom;
  const threshold = (value) => {
    const given = realOf(value), number = Math.min(Math.max(given ?? low, low), high);
    const found = ((exact(number) - bottom) * WORDS) / span;
    return given === undefined ? [WORDS / 2n, MISSING] : [found, Number(number !== given)];
  };
  return { name: keys.name, label: keys.label, bounds: [low, high], threshold };
}

const PUBLIC = {
  int: (value) => {
    const whole = typeof value === "number" && !Number.isInteger(value) ? undefined : wholeOf(value);
    return whole !== undefined && BigInt.asIntN(64, whole) === whole ? String(whole) : null;
  },
  float: (value) => {
    const number = realOf(value);
    if (number === undefined || !Number.isFinite(number)) return null;
    // Readers take long rows of digits for whole numbers.
    return Math.abs(number) < 1e15 ? JSON.stringify(number) : number.toExponential();
  },
  text: (value) => (typeof value === "string" && !/\p{Cs}/u.test(value) ? JSON.stringify(value) : null),
  bool: (value) => (typeof value === "boolean" ? String(value) : null),
  date: (value) => (momentOf(value, false) === undefined ? null : JSON.stringify(value)),
  timestamp: (value) => (momentOf(value, true) === undefined ? null : JSON.stringify(value.length < 19 ? `${value}:00` : value)),
};

function readPublic(keys) {
  const { name, type, label } = keys;
  requireKeys(keys, `public ${name}`, ["name", "type"], ["label"]);
  requireLabel(label);
  require(typeof type === "string" && Object.hasOwn(PUBLIC, type), `public ${name}: type must be one of ${Object.keys(PUBLIC)}`);
  // A value as JSON text, "null" for what does not fit.
  return { name, type, label, write: (value) => PUBLIC[type](value) ?? "null" };
}

/** The columns of a survey: dimensions, measures and public columns, checked. */
export function readSchema(data) {
  const readers = { dimension: readDimension, measure: readMeasure, public: readPublic };
  requireKeys(data, "schema", Object.keys(readers));
  const [dimensions, measures, open] = Object.entries(readers).map(([role, read]) => {
    const columns = readList(data[role]).map((keys) => {
      require(isObject(keys), `schema.${role} holds objects`);
      requireName(keys.name);
      return read(keys);
    });
    require(new Set(columns.map(({ name }) => name)).size === columns.length, "two columns of one role have the same name");
    return columns;
  });
  const privateNames = new Set([...dimensions, ...measures].map(({ name }) => name));
  require(privateNames.size, "a survey needs at least one dimension or measure");
  require(dimensions.length + measures.length + open.length <= 1000, "a survey has at most 1,000 columns");
  require(dimensions.reduce((sum, { size }) => sum + size, 0) <= 2 ** 22, "the dimensions have more than 2^22 codes together");
  for (const { name } of open) require(!privateNames.has(name), `${name} is both private and public`);
  for (const { name, type } of dimensions) {
    const isNumber = type === "int" || type === "float" || !measures.some((measure) => measure.name === name);
    require(isNumber, `${name} is a measure, so its dimension must be a number`);
  }
  const owners = new Map(), labels = new Map();
  const claim = (text, { name }) => require(owners.set(text, owners.get(text) ?? name).get(text) === name, `the label of ${name} also stands for another column`);
  for (const column of [...dimensions, ...measures, ...open]) claim(`name ${column.name}`, column);
  for (const column of [...dimensions, ...measures, ...open].filter(({ label }) => label !== undefined)) {
    const { name, label } = column;
    require((labels.get(name) ?? label) === label, `${name} has two labels`);
    labels.set(name, label);
    claim(`name ${label.replace(/[A-Z]/g, (letter) => letter.toLowerCase())}`, column);
    claim(`label ${label}`, column);
  }
  let words = 0, product = 2 ** 32;
  const places = dimensions.map(({ declared }) => {
    if (product * declared > 2 ** 32) { words++; product = 1; }
    const place = [words - 1, product];
    product *= declared;
    return place;
  });
  const sizes = [...dimensions.map(({ size }) => size), ...measures.map(() => 2)];
  return { dimensions, measures, public: open, privateNames, places, sizes, words: words + measures.length };
}

/** The value of a column of a record; undefined for one that is not there or cannot be had. */
function look(record, name) {
  try {
    return Object.hasOwn(record, name) ? record[name] : undefined;
  } catch {
    return undefined;
  }
}

/** Codes of the dimensions and levels of the measures, whatever a record holds, by `schema.words` words. */
export function encode(schema, record, words) {
  const codes = schema.dimensions.map(({ name, declared, find }, i) => {
    const [word, product] = schema.places[i];
    const drawn = ((words[word] * BigInt(product)) % WORDS) * BigInt(declared) / WORDS;
    return find(look(record, name), Number(drawn))[0];
  });
  const first = schema.words - schema.measures.length;
  return codes.concat(schema.measures.map(({ name, threshold }, i) => Number(words[first + i] < threshold(look(record, name))[0])));
}

/** The columns that travel in clear, as JSON texts. */
export const publicTexts = (columns, record) => columns.map(({ name, write }) => [name, write(look(record, name))]);

/** The columns of a record that do not fit: for whoever writes an app, never to be shown to anybody. */
export function misfits(schema, columns, record) {
  const places = [
    ...schema.dimensions.map(({ name, find }) => [name, find(look(record, name), 0)[1]]),
    ...schema.measures.map(({ name, threshold }) => [name, threshold(look(record, name))[1]]),
    ...publicTexts(columns, record).map(([name, text]) => [name, text === "null" ? MISSING : INSIDE]),
  ];
  return [...new Set(places.filter(([, where]) => where !== INSIDE).map(([name]) => name))];
}
