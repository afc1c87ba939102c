/** Plans: whole numbers that say which questions there are and how each is answered; docs/format.md#plan. */

import { require } from "./json.js";
import { toHex, sha256 } from "./sha256.js";
import { WORDS } from "./schema.js";

const LARGEST = 2 ** 53, RADIX = 2 ** 31, LISTED = 2 ** 20, MOST_QUESTIONS = 2 ** 20, MOST_SIZE = 2 ** 24, MOST_BITS = 1024;
const ODDS = WORDS << 30n;

const problem = (what) => `the plan cannot be used: ${what}`;
const demand = (holds, what) => require(holds, problem(what));

// -- reading --------------------------------------------------------------------------------------

/** A reader of plain numbers. */
const number = (low = 0, high = LARGEST) => (data, where) => {
  require(Number.isInteger(data) && data >= low && data <= high, `${where} must be a whole number from ${low} to ${high}`);
  return data;
};

/** A reader of numbers that may exceed 2^53, as BigInt. */
const big = (low, high) => (data, where) => {
  const isText = typeof data === "string" && /^[1-9]\d{15,28}$/.test(data) && BigInt(data) > LARGEST;
  require(isText || (Number.isInteger(data) && data >= 0 && data <= LARGEST), `${where} must be a whole number`);
  require(BigInt(data) >= low && BigInt(data) <= high, `${where} is not within its limits`);
  return BigInt(data);
};

const list = (read) => (data, where) => {
  require(Array.isArray(data), `${where} must be an array`);
  return data.map((entry, i) => read(entry, `${where}[${i}]`));
};

const isTrue = (data, where) => {
  require(data === true, `${where} must be true where it is said`);
  return true;
};

/** A reader of integers that may vary with the choice of a step. */
const integer = (low = 0, high = LARGEST) => (data, where) =>
  typeof data === "object" && data !== null && !Array.isArray(data)
    ? object({ step: [number()], values: [list(number(low, high))] })(data, where)
    : number(low, high)(data, where);

/** A reader of objects, by key its reader and, where it may be left out, its default. */
const object = (keys) => (data, where) => {
  require(typeof data === "object" && data !== null && !Array.isArray(data), `${where} must be an object`);
  const result = {};
  for (const [key, [, fallback]] of Object.entries(keys)) {
    require(key in data || keys[key].length > 1, `${where} lacks ${key}`);
    result[key] = fallback;
  }
  for (const key of Object.keys(data)) {
    require(Object.hasOwn(keys, key), `${where} has the unknown key ${JSON.stringify(key.slice(0, 40))}`);
    const value = keys[key][0](data[key], `${where}.${key}`), [, fallback] = keys[key];
    const isDefault = keys[key].length > 1 && (value === fallback || (Array.isArray(value) && !value.length));
    require(!isDefault, `${where} says ${key} where it is left out: a plan is written in one way`);
    result[key] = value;
  }
  return result;
};

/** A reader of one of several kinds of objects, which the key `kind` names. */
const variant = (kinds) => (data, where) => {
  const known = typeof data === "object" && data !== null && typeof data.kind === "string" && Object.hasOwn(kinds, data.kind);
  require(known, `${where} must be of one of the kinds ${Object.keys(kinds)}`);
  const { kind, ...rest } = data;
  return { kind, ...object(kinds[kind])(rest, where) };
};

const setNumber = [integer(0, LISTED)], rungWords = big(0n, WORDS), thresholds = [list(big(0n, WORDS - 1n))];
const optional = [number(), undefined];

const RESPONSES = {
  arcs: { odds: [number()], counts: [list(integer())] },
  comb: { odds: [number()], tooth: setNumber, window: setNumber, width: setNumber },
  scrambled: { odds: [number()], length: setNumber, seed: setNumber, flips: setNumber },
  ladder: { held: [list(number(1, RADIX))], rungs: [list(list(object({ width: [rungWords], drawn: [list(number()), []] })))] },
  rows: { rows: [list(list(big(0n, ODDS)))] },
  staircase: { symbols: [number(1, 4096)], favour: [big(WORDS, ODDS)], weights: [list(big(1n, ODDS))], favoured: [list(list(number()))] },
  bits: { own: thresholds, other: thresholds },
  keep: {},
};

const THENS = {
  hash: { prime: [integer(2, 2 ** 26)], values: [integer(2, RADIX)], slope: [number()], shift: [number()] },
  parity: { coin: [number()], times: [integer(1, RADIX), 1], plus: [integer(0, RADIX), 0] },
};

const readPlan_ = object({
  sizes: [list(number(1))],
  odds: [list(big(WORDS, ODDS))],
  tables: [list(list(number(0, LARGEST - 1))), []],
  faces: [list(object({
    weight: [big(1n, WORDS)],
    steps: [list(object({ mantissas: [list(big(1n, WORDS))], exponents: [list(number(0, 64)), []], secret: [isTrue, false] })), []],
    coins: [list(integer(1, 2 ** 32)), []],
    parts: [list(object({
      digits: [list(object({
        terms: [list(object({ attribute: [number()], coefficient: [integer(), 1], divide: [integer(1), 1], table: optional, cuts: optional }))],
        plus: [integer(), 0], table: optional, modulus: [isTrue, false], radix: [integer(1, RADIX)],
      }))],
      then: [variant(THENS), undefined],
      response: [variant(RESPONSES)],
      fakes: [number(0, 64), 0],
    }))],
  }))],
});

// -- integers and choices -------------------------------------------------------------------------

/** An integer for what was drawn. */
export const valueOf = (whole, choices) => (typeof whole === "number" ? whole : whole.values[choices[whole.step]]);
const extent = (whole) => (typeof whole === "number" ? [whole] : whole.values);
const smallest = (whole) => extent(whole).reduce((a, b) => Math.min(a, b));
const largest = (whole) => extent(whole).reduce((a, b) => Math.max(a, b));
export const product = (numbers) => numbers.reduce((a, b) => a * b, 1);

/** The integers within an object of a plan that vary with a step. */
export function* columnsIn(value) {
  if (typeof value !== "object" || value === null) return;
  if ("step" in value) yield value;
  else for (const entry of Object.values(value)) yield* columnsIn(entry);
}

/** Call with every combination of the choices of a face, first step slowest. */
export function eachChoice(face, visit) {
  const choices = face.steps.map(() => 0);
  for (let count = face.combinations; count--;) {
    visit(choices);
    for (let s = choices.length - 1; s >= 0 && ++choices[s] === face.steps[s].weights.length; s--) choices[s] = 0;
  }
}

/** Number within the face of the question of these choices. */
export const questionOf = (face, choices) =>
  face.steps.reduce((place, step, s) => (step.secret ? place : place * step.weights.length + choices[s]), 0);

/** Values of every digit that a part answers about. */
export const radicesOf = (part, choices) => part.radices.map((radix) => valueOf(radix, choices));

// -- choices by halves of words -------------------------------------------------------------------

/** The first half of every alternative, and how many halves mean it. */
function drawTable(weights) {
  const total = weights.reduce((a, b) => a + b, 0n), starts = [];
  demand(total <= WORDS, "the weights are too large");
  let sum = 0n;
  for (const weight of weights) {
    starts.push(Number((sum << 32n) / total));
    sum += weight;
  }
  const preimages = starts.map((start, i) => (starts[i + 1] ?? 2 ** 32) - start);
  demand(preimages.every((count) => count > 0), "a weight is less than 2^-32 of all");
  return { weights, starts, preimages };
}

/** The alternative that a half of a word means. */
export function choose({ starts }, half) {
  let low = 0, high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= half) low = middle; else high = middle;
  }
  return low;
}

// -- checks ---------------------------------------------------------------------------------------

function isPrime(number) {
  for (let n = 2; n * n <= number; n++) if (number % n === 0) return false;
  return number > 1;
}

function preparePart(part) {
  const { digits, response, then, fakes } = part, { kind } = response;
  demand(digits.length >= 1 && digits.length <= 64, "a part has 1 to 64 digits");
  for (const { terms } of digits) {
    for (const { divide, table, cuts } of terms) {
      demand((divide !== 1) + (table !== undefined) + (cuts !== undefined) <= 1, "a term is divided, looked up, or cut");
    }
  }
  demand(product(digits.map(({ radix }) => largest(radix))) <= RADIX, "a symbol has more than 2^31 values");
  part.radices = then ? [then.kind === "hash" ? then.values : 2] : digits.map(({ radix }) => radix);
  part.size = product(part.radices.map(largest));
  part.words = kind === "bits" ? part.size : fakes + (kind !== "keep");
  part.columns = kind === "bits" ? Math.ceil(part.size / 32) : 1 + fakes;
  const read = digits.flatMap(({ terms }) => terms).filter(({ coefficient }) => largest(coefficient));
  part.attributes = new Set(read.map(({ attribute }) => attribute));
  demand(part.size < RADIX, "a part has 2^31 values or more");
  demand(!fakes || kind === "keep", "fakes go with answers that are kept");
  if (then?.kind === "hash") demand(new Set(extent(then.prime)).size <= 4096 && [...new Set(extent(then.prime))].every(isPrime), "the modulus of a hash is not a prime number");
  if (kind === "arcs") demand(response.counts.length === part.radices.length, "an interval for every digit");
  if (kind === "comb" || kind === "scrambled") demand((part.radices.length === 1) === (kind === "comb") && part.size <= LISTED, "a comb has one digit, a scrambled set more, of at most 2^20 points");
  if (kind === "ladder") prepareLadder(part);
  if (kind === "staircase") response.rows = staircaseRows(response);
  if (response.rows) {
    const [{ length } = []] = response.rows;
    demand(length && response.rows.every((row) => row.length === length && row.reduce((a, b) => a + b) === WORDS), "a row of words");
    demand(part.size <= response.rows.length, "a row for every symbol");
  }
  if (kind === "bits") {
    demand(part.size <= MOST_BITS, "at most 1024 bits");
    for (const limits of [response.own, response.other]) {
      const fits = (limits.length === 1 || limits.length === part.size) && new Set(limits).size <= 16;
      demand(fits, "a threshold for every bit, or one for all, at most 16 of them different");
    }
    demand(Math.max(response.own.length, response.other.length) <= MOST_BITS, "at most 1024 bits");
  }
}

function prepareLadder(part) {
  const { held, rungs } = part.response, digits = held.length, [{ length } = []] = rungs;
  demand(digits >= 1 && digits <= 6 && rungs.length === 1 << digits, "a ladder for every class");
  demand(digits === part.radices.length && held.every((h, j) => h <= smallest(part.radices[j])), "sensitive values for every digit, no more than values");
  demand(length && rungs.every((ladder) => ladder.length === length), "ladders of one length");
  for (const ladder of rungs) {
    let end = 0n;
    ladder.forEach((rung, i) => {
      demand(rung.drawn.every((j) => j < digits), "drawn digits");
      rung.points = rung.width ? product(rung.drawn.map((j) => held[j])) : 0;
      if (i === length - 1) demand(!rung.drawn.length && rung.width <= WORDS - end, "the last rung of a ladder keeps the symbol");
      // In rungs without words the numbers below are never used, but are divided by.
      rung.start = end;
      end = i === length - 1 ? WORDS : end + rung.width * BigInt(rung.points);
      rung.end = end;
      if (!rung.width) rung.drawn = [];
    });
    demand(end <= WORDS && ladder.every((rung) => rung.end <= WORDS) && ladder[0].width > 0n, "the words of a ladder");
  }
}

function staircaseRows({ symbols, favour, weights, favoured }) {
  demand(symbols * weights.length <= MOST_QUESTIONS && weights.length === favoured.length, "a staircase of one favoured set per answer");
  demand(favoured.length && favoured.every((bits) => bits.length * 32 >= symbols), "a bit for every symbol");
  return Array.from({ length: symbols }, (_, symbol) => {
    const most = weights.map((weight) => (weight * favour) / WORDS);
    const isFavoured = favoured.map((bits) => Math.floor(bits[symbol >> 5] / 2 ** (symbol & 31)) % 2);
    const row = weights.map((weight, a) => (isFavoured[a] ? most[a] : weight));
    let left = WORDS - row.reduce((a, b) => a + b);
    return row.map((words, a) => {
      const more = isFavoured[a] || left < 0n ? 0n : left < most[a] - words ? left : most[a] - words;
      left -= more > 0n ? more : 0n;
      return words + (more > 0n ? more : 0n);
    });
  });
}

/** The largest value of a digit before its table and modulus. */
export function largestSum(plan, digit, choices) {
  let top = valueOf(digit.plus, choices);
  for (const { attribute, coefficient, divide, table, cuts } of digit.terms) {
    const size = plan.sizes[attribute];
    let look = Math.floor((size - 1) / valueOf(divide, choices));
    if (table !== undefined) look = plan.tops[table];
    if (cuts !== undefined) look = plan.tables[cuts].length;
    top += valueOf(coefficient, choices) * look;
  }
  return top;
}

function checkTerms(plan, { terms, table }) {
  demand(terms.length <= plan.sizes.length, "a digit with too many terms");
  for (const { attribute, table: looked, cuts } of terms) {
    demand(attribute < plan.sizes.length, "a term about an unknown attribute");
    if (looked !== undefined) demand(plan.tables[looked]?.length >= plan.sizes[attribute], "a table is missing, or shorter than its attribute");
    if (cuts !== undefined) demand(plan.tables[cuts]?.every((cut, i, all) => !i || cut > all[i - 1]), "cuts must be there, and ascend");
  }
  if (table !== undefined) demand(plan.tables[table], "a table that is missing");
}

/** Whether a part and its response make sense for these choices. */
function checkPart(plan, face, { digits, then, response, radices: given }, choices) {
  let size = 1;
  for (const digit of digits) {
    let top = largestSum(plan, digit, choices);
    const radix = valueOf(digit.radix, choices);
    demand(top < LARGEST, "a digit exceeds 2^53");
    if (digit.table !== undefined) {
      demand(top < plan.tables[digit.table].length, "a table is shorter than its digit");
      top = plan.tops[digit.table];
    }
    demand(digit.modulus || top < radix, "a symbol can exceed its radix");
    size *= radix;
  }
  const coins = face.coins.map((coin) => valueOf(coin, choices)), prime = then?.prime && valueOf(then.prime, choices);
  if (then?.kind === "parity") demand(then.coin < coins.length, "a parity without its coin");
  if (prime) demand(coins[then.slope] === prime - 1 && coins[then.shift] === prime && size <= prime, "the coins or values of a hash do not fit its prime");
  const radices = given.map((radix) => valueOf(radix, choices)), read = (key) => valueOf(response[key], choices);
  if ("odds" in response) demand(response.odds < plan.odds.length, "a response with unknown odds");
  if (response.kind === "arcs") demand(response.counts.every((count, j) => valueOf(count, choices) >= 1 && valueOf(count, choices) <= radices[j]), "an interval is longer than its circle");
  if (response.kind === "scrambled") {
    const circle = radices.at(-1), most = circle > 1 ? circle : product(radices.slice(0, -1));
    demand(read("length") >= 1 && read("length") <= most, "the length of a scrambled interval");
  }
  if (response.kind === "comb") demand(read("tooth") <= radices[0] && read("window") >= 1 && read("window") <= radices[0] && read("width") >= 1, "the numbers of a comb do not fit its circle");
}

/** What a face adds to the work of reading a plan. */
function sizeOf({ combinations, steps, parts }) {
  const ofPart = ({ digits, response: { kind, rows }, size }) =>
    512 + combinations * digits.reduce((sum, { terms }) => sum + 1 + terms.length, 0)
    + (kind === "comb" ? combinations * Math.max(512, size) : 0)
    + (kind === "ladder" ? 2 ** 18 : 0)
    + (rows ? 16 * rows.length * rows[0].length : 0);
  return 4 * combinations * steps.length + parts.reduce((sum, part) => sum + ofPart(part), 0);
}

/** The exclusive limit of every answer column of a part. */
export function limitsOf(part, choices) {
  const size = product(radicesOf(part, choices)), { kind, rows } = part.response;
  return Array.from({ length: part.columns }, (_, i) => {
    if (kind === "bits") return 2 ** Math.min(Math.max(size - 32 * i, 0), 32);
    return rows ? rows[0].length : size;
  });
}

/** A plan, checked. */
export function readPlan(data) {
  const plan = readPlan_(data, "plan"), { faces, sizes } = plan;
  demand(sizes.length && faces.length && faces.length <= 2 ** 14, "no attributes, no face, or too many");
  demand(plan.tables.every((table) => table.length), "an empty table");
  plan.tops = plan.tables.map((table) => table.reduce((a, b) => Math.max(a, b)));
  plan.questions = 0;
  for (const face of faces) {
    demand(face.parts.length && face.steps.length <= 64 && face.coins.length <= 64, "a face without parts, or too many steps or coins");
    face.steps = face.steps.map(({ mantissas, exponents, secret }) => {
      demand(mantissas.length && mantissas.length <= MOST_QUESTIONS, "a step has no choices, or too many");
      demand(!exponents.length || exponents.length === mantissas.length, "an exponent for every weight");
      return { ...drawTable(mantissas.map((m, i) => m << BigInt(exponents[i] ?? 0))), secret };
    });
    face.combinations = product(face.steps.map(({ weights }) => weights.length));
    face.questions = product(face.steps.filter(({ secret }) => !secret).map(({ weights }) => weights.length));
    demand(face.combinations <= MOST_QUESTIONS, "a face has too many questions");
    for (const { step, values } of columnsIn([face.coins, face.parts])) {
      demand(values.length && values.length === face.steps[step]?.weights.length, "a column has one number per choice of its step");
    }
    face.parts.forEach(preparePart);
    face.first = plan.questions;
    plan.questions += face.questions;
  }
  demand(plan.questions <= MOST_QUESTIONS, "too many questions");
  const most = (count) => faces.reduce((top, face) => Math.max(top, count(face)), 0);
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  plan.choice = drawTable(faces.map(({ weight }) => weight));
  plan.blindWords = (most(({ steps }) => steps.length) >> 1) + 1;
  plan.coins = most(({ coins }) => coins.length);
  plan.words = plan.blindWords + plan.coins + most(({ parts }) => sum(parts.map(({ words }) => words)));
  plan.columns = 1 + plan.coins + most(({ parts }) => sum(parts.map(({ columns }) => columns)));
  demand(sum(faces.map(sizeOf)) + plan.questions * plan.columns <= MOST_SIZE, "it is too large");
  const limits = new Array(plan.columns).fill(1);
  limits[0] = plan.questions;
  for (const face of faces) {
    for (const { digits } of face.parts) digits.forEach((digit) => checkTerms(plan, digit));
    eachChoice(face, (choices) => {
      for (const part of face.parts) checkPart(plan, face, part, choices);
      columnLimits(plan, face, choices).forEach((limit, i) => { limits[1 + i] = Math.max(limits[1 + i], limit); });
    });
  }
  plan.widths = limits.map((limit) => [8, 16, 32, 64].find((width) => limit <= 2 ** width));
  return plan;
}

/** The exclusive limit of every column of a report but the first; 1 where a face has none. */
export function columnLimits(plan, face, choices) {
  const coins = Array.from({ length: plan.coins }, (_, i) => (i < face.coins.length ? valueOf(face.coins[i], choices) : 1));
  const answers = face.parts.flatMap((part) => limitsOf(part, choices));
  return [...coins, ...answers, ...new Array(plan.columns - 1 - coins.length - answers.length).fill(1)];
}

// -- base sets ------------------------------------------------------------------------------------

function gcd(a, b) {
  return b ? gcd(b, a % b) : a;
}

/** The rank of every element of a product of circles: a permutation from SHA-256. */
function scrambledRanks(shape, seed, flips) {
  const size = product(shape), bytes = new Uint8Array(32), view = new DataView(bytes.buffer), words = [];
  bytes.set(new TextEncoder().encode("ldpsql scrambled"));
  view.setBigUint64(16, BigInt(seed));
  for (let i = 0; i * 4 < size; i++) {
    view.setBigUint64(24, BigInt(i));
    const digits = toHex(sha256(bytes));
    for (let j = 0; j < 4; j++) words.push(digits.slice(16 * j, 16 * j + 16));
  }
  const ranks = [];
  [...Array(size).keys()].sort((a, b) => (words[a] < words[b] ? -1 : words[a] > words[b] ? 1 : a - b)).forEach((element, rank) => { ranks[element] = rank; });
  return ranks.map((_, element) => {
    const digits = split(element, shape).map((c, j) => (Math.floor(flips / 2 ** j) % 2 ? (shape[j] - c) % shape[j] : c));
    return ranks[flatten(digits, shape)];
  });
}

/** The points of a listed base set, and those outside of it, as flat offsets. */
export function listPoints(response, radices, choices) {
  const read = (key) => valueOf(response[key], choices), size = product(radices), points = [[], []];
  let holds;
  if (response.kind === "comb") {
    const [m] = radices, tooth = read("tooth"), window = read("window"), shared = gcd(tooth, m), half = read("width") >> 1;
    holds = (u) => {
      const place = Math.floor((((tooth * (u - (window >> 1))) % m) + m) % m / shared);
      return u < window && (place + half) % (m / shared) < read("width");
    };
  } else {
    const circle = radices.at(-1), ranks = scrambledRanks(radices.slice(0, -1), read("seed"), read("flips"));
    holds = (flat) => {
      const rank = ranks[Math.floor(flat / circle)];
      return circle === 1 ? rank < read("length") : ((flat % circle) + Math.floor((rank * circle) / ranks.length)) % circle < read("length");
    };
  }
  for (let point = 0; point < size; point++) points[holds(point) ? 0 : 1].push(point);
  return points;
}

/** Mixed radix, last digit fastest. */
export const flatten = (digits, radices) => digits.reduce((flat, digit, j) => flat * radices[j] + digit, 0);

/** The digits of a number in mixed radix. */
export function split(flat, radices) {
  return radices.reduceRight(({ rest, digits }, radix) => ({ rest: Math.floor(rest / radix), digits: [rest % radix, ...digits] }), { rest: flat, digits: [] }).digits;
}

/** How many points the base set of a response has, and how many there are. */
export function subsetSizes(part, choices) {
  const { response } = part, radices = radicesOf(part, choices), size = product(radices), { kind } = response;
  if (kind === "arcs") return [product(response.counts.map((count) => valueOf(count, choices))), size];
  if (kind === "comb") return [listPoints(response, radices, choices)[0].length, size];
  return [valueOf(response.length, choices) * (radices.at(-1) > 1 ? size / radices.at(-1) : 1), size];
}

/** Words of every point inside a base set, and of every other. */
export function subsetWords(base, size, odds) {
  const [b, h] = [BigInt(base), BigInt(size)];
  if (base === size) return [WORDS / b, 0n];
  const inside = (((WORDS * WORDS) / (b * odds + (h - b) * WORDS)) * odds) / WORDS;
  return [inside, (WORDS - b * inside) / (h - b)];
}
