/** Plans: whole numbers that say which questions there are and how each is answered; docs/format.md#plan. */

import { check } from "./json.js";
import { WORDS } from "./schema.js";
import { toHex, sha256 } from "./sha256.js";
import { big, list, object, oneOf, variant, whole } from "./shapes.js";

const LARGEST = 2 ** 53, RADIX = 2 ** 31, LISTED = 2 ** 20, MOST_QUESTIONS = 2 ** 20, MOST_SIZE = 2 ** 24, MOST_BITS = 1024;
const ODDS = WORDS << 30n;

/** Throw unless something holds of the plan. */
export const demand = (holds, problem) => check(holds, "the plan", `cannot be used: ${problem}`);

// -- reading --------------------------------------------------------------------------------------

/** A reader of integers, which may be columns: a number per choice of a step. */
const integer = (low, high) => {
  const read = whole(low, high), column = object({ step: whole(), values: list(read, 1) });
  return (data, where) => (typeof data === "object" ? column : read)(data, where);
};

const index = whole(), bits = list(big(0n, WORDS - 1n)), listed = integer(0, LISTED);

const RESPONSES = {
  arcs: { odds: index, counts: list(integer()) },
  comb: { odds: index, tooth: listed, window: listed, width: listed },
  scrambled: { odds: index, length: listed, seed: listed, flips: listed },
  ladder: { held: list(whole(1, RADIX), 1, 6), rungs: list(list(object({ width: big(0n, WORDS), drawn: [list(index), []] }), 1)) },
  rows: { rows: list(list(big(0n, ODDS), 1), 1) },
  staircase: { symbols: whole(1, 4096), favour: big(WORDS, ODDS), weights: list(big(1n, ODDS), 1), favoured: list(list(whole(0, 2 ** 32 - 1))) },
  bits: { own: bits, other: bits },
  keep: {},
};

const THENS = {
  hash: { prime: integer(2, 2 ** 26), values: integer(2, RADIX), slope: index, shift: index },
  parity: { coin: index, times: [integer(1, RADIX), 1], plus: [integer(0, RADIX), 0] },
};

const readKeys = object({
  sizes: list(whole(1), 1),
  odds: list(big(WORDS, ODDS)),
  tables: [list(list(whole(0, LARGEST - 1), 1)), []],
  faces: list(object({
    weight: big(1n, WORDS),
    steps: [list(object({ mantissas: list(big(1n, WORDS), 1, MOST_QUESTIONS), exponents: [list(whole(0, 64)), []], secret: [oneOf(true), false] }), 0, 64), []],
    coins: [list(integer(1, 2 ** 32), 0, 64), []],
    parts: list(object({
      digits: list(object({
        terms: list(object({ attribute: index, coefficient: [integer(), 1], divide: [integer(1), 1], table: [index], cuts: [index] })),
        plus: [integer(), 0], table: [index], modulus: [oneOf(true), false], radix: integer(1, RADIX),
      }), 1, 64),
      then: [variant("kind", THENS)],
      response: variant("kind", RESPONSES),
      fakes: [whole(0, 64), 0],
    }), 1),
  }), 1, 2 ** 14),
});

// -- columns and choices --------------------------------------------------------------------------

/** The columns within a value of a plan. */
export function* columnsIn(value) {
  if (typeof value !== "object" || value === null) return;
  if ("step" in value) yield value;
  else for (const entry of Object.values(value)) yield* columnsIn(entry);
}

/** A value of a plan in which every column has given way to its number for what was drawn. */
function pick(value, choices) {
  if (typeof value !== "object" || value === null) return value;
  if ("step" in value) return value.values[choices[value.step]];
  if (Array.isArray(value)) return value.map((entry) => pick(entry, choices));
  const found = {};
  for (const key in value) found[key] = pick(value[key], choices);
  return found;
}

/** The ranges of a face's coins. */
export const coinsOf = (face, choices) => pick(face.coins, choices);

/** A part with plain numbers, for what was drawn: radices, of the digits answered about, and size, their product. */
export function partOf(part, choices) {
  const { response } = part, digits = pick(part.digits, choices), then = pick(part.then, choices);
  const radices = then ? [then.values ?? 2] : digits.map(({ radix }) => radix);
  return { ...part, digits, then, response: "odds" in response ? pick(response, choices) : response, radices, size: product(radices) };
}

const extent = (number) => number.values ?? [number];
const most = (numbers) => numbers.reduce((a, b) => Math.max(a, b), 0);
const sum = (numbers) => numbers.reduce((a, b) => a + b);
export const product = (numbers) => numbers.reduce((a, b) => a * b, 1);

const lengthsOf = (steps) => steps.map(({ weights }) => weights.length);

/** Call with every combination of the choices of a face, first step slowest. */
export function eachChoice({ steps, combinations }, visit) {
  const lengths = lengthsOf(steps);
  for (let i = 0; i < combinations; i++) visit(split(i, lengths));
}

/** Number within the face of the question of these choices. */
export const questionOf = ({ steps }, choices) => flatten(choices.filter((_, s) => !steps[s].secret), lengthsOf(steps.filter(({ secret }) => !secret)));

/** Alternatives by the first half of a word that means each, and how many halves mean it. */
function drawTable(weights) {
  const total = weights.reduce((a, b) => a + b, 0n), starts = [];
  demand(total <= WORDS, "its weights are too large");
  let before = 0n;
  for (const weight of weights) {
    starts.push(Number((before << 32n) / total));
    before += weight;
  }
  const preimages = starts.map((start, i) => (starts[i + 1] ?? 2 ** 32) - start);
  demand(preimages.every((count) => count > 0), "a weight is less than 2^-32 of all");
  return { weights, starts, preimages };
}

// -- checks of what holds for every question ------------------------------------------------------

function isPrime(number) {
  for (let n = 2; n * n <= number; n++) if (number % n === 0) return false;
  return true;
}

function preparePart(part) {
  const { digits, response, then, fakes } = part, { kind, own, other } = response;
  const terms = digits.flatMap((digit) => digit.terms), radices = then ? [then.values ?? 2] : digits.map(({ radix }) => radix);
  for (const { divide, table, cuts } of terms) demand((divide !== 1) + (table !== undefined) + (cuts !== undefined) <= 1, "a term is divided, looked up, or cut");
  demand(product(digits.map(({ radix }) => most(extent(radix)))) <= RADIX, "a symbol has more than 2^31 values");
  part.attributes = [...new Set(terms.filter(({ coefficient }) => most(extent(coefficient))).map(({ attribute }) => attribute))];
  // Of the largest choice.
  part.radices = radices.map((radix) => most(extent(radix)));
  part.size = product(part.radices);
  part.words = kind === "bits" ? part.size : fakes + (kind !== "keep");
  part.columns = kind === "bits" ? Math.ceil(part.size / 32) : 1 + fakes;
  demand(part.size < RADIX, "a part has 2^31 values or more");
  demand(!fakes || kind === "keep", "fakes go with answers that are kept");
  if (then?.prime) {
    const primes = new Set(extent(then.prime));
    demand(primes.size <= 4096 && [...primes].every(isPrime), "the modulus of a hash is not prime");
  }
  if (kind === "arcs") demand(response.counts.length === radices.length, "arcs are not one for every digit");
  if (kind === "comb" || kind === "scrambled") demand((radices.length === 1) === (kind === "comb") && part.size <= LISTED, "a comb has one digit, a scrambled set more, of at most 2^20 points");
  if (kind === "ladder") prepareLadder(response, radices);
  if (kind === "staircase") response.rows = staircaseRows(response);
  const { rows } = response;
  if (rows) demand(rows.every((row) => row.length === rows[0].length && sum(row) === WORDS) && part.size <= rows.length, "rows are not of 2^64 words each, one for every symbol");
  if (own) demand(part.size <= MOST_BITS && [own, other].every((limits) => (limits.length === 1 || limits.length === part.size) && new Set(limits).size <= 16), "bits are at most 1024, with a threshold each, 16 of them different, or one for all");
}

function prepareLadder({ held, rungs }, radices) {
  const digits = held.length, last = rungs[0]?.length - 1;
  demand(digits === radices.length && held.every((limit, j) => extent(radices[j]).every((radix) => limit <= radix)), "a ladder holds values of every digit, and no more than there are");
  demand(rungs.length === 1 << digits && rungs.every((ladder) => ladder.length === last + 1 && ladder[0].width), "there is a ladder for every class, all as long and with a first rung");
  for (const ladder of rungs) {
    let end = 0n;
    ladder.forEach((rung, i) => {
      demand(rung.drawn.every((j) => j < digits) && (i < last || !rung.drawn.length), "a ladder draws a digit that is missing, or does not end with the symbol");
      // A rung without words draws nothing.
      if (!rung.width) rung.drawn = [];
      rung.points = product(rung.drawn.map((j) => held[j]));
      demand(rung.points < 2 ** 64, "a ladder has more than 2^64 words");
      rung.start = end;
      end += rung.width * BigInt(rung.points);
      demand(end <= WORDS, "a ladder has more than 2^64 words");
      if (i === last) end = WORDS;
      rung.end = end;
    });
  }
}

function staircaseRows({ symbols, favour, weights, favoured }) {
  demand(symbols * weights.length <= MOST_QUESTIONS && weights.length === favoured.length && favoured.every((set) => set.length * 32 >= symbols), "a staircase has a favoured set for every answer, with a bit for every symbol");
  return Array.from({ length: symbols }, (_, symbol) => {
    const isFavoured = favoured.map((set) => (set[symbol >> 5] >>> (symbol & 31)) & 1);
    const tops = weights.map((weight) => (weight * favour) / WORDS), row = weights.map((weight, a) => (isFavoured[a] ? tops[a] : weight));
    let left = WORDS - sum(row);
    return row.map((words, a) => {
      const room = tops[a] - words, more = isFavoured[a] || left < 0n ? 0n : left < room ? left : room;
      left -= more;
      return words + more;
    });
  });
}

// -- checks of every question ---------------------------------------------------------------------

/** The largest value of a digit before its table and modulus. */
export const largestSum = (plan, { plus, terms }) => terms.reduce((top, { attribute, coefficient, divide, table, cuts }) => {
  const look = table !== undefined ? plan.tops[table] : cuts !== undefined ? plan.tables[cuts].length : Math.floor((plan.sizes[attribute] - 1) / divide);
  return top + coefficient * look;
}, plus);

function checkDigit({ sizes, tables }, { terms, table }) {
  demand(terms.length <= sizes.length && terms.every(({ attribute }) => attribute < sizes.length), "a digit has too many terms, or one about an unknown attribute");
  for (const term of terms) {
    demand(term.table === undefined || tables[term.table]?.length >= sizes[term.attribute], "a table is missing, or shorter than its attribute");
    demand(term.cuts === undefined || tables[term.cuts]?.every((cut, i, all) => !i || cut > all[i - 1]), "cuts are missing, or do not ascend");
  }
  demand(table === undefined || tables[table], "a table is missing");
}

/** Throw unless a part, with plain numbers, and its response make sense. */
function checkPart(plan, { digits, then, response, radices }, coins) {
  for (const digit of digits) {
    const { table, modulus, radix } = digit, top = largestSum(plan, digit);
    demand(top < LARGEST && (table === undefined || top < plan.tables[table].length), "a digit exceeds 2^53, or its table");
    demand(modulus || (table === undefined ? top : plan.tops[table]) < radix, "a symbol can exceed its radix");
  }
  const { kind, odds, counts, tooth, window, width, length } = response, prime = then?.prime, circle = radices.at(-1);
  if (then) {
    const fits = prime ? coins[then.slope] === prime - 1 && coins[then.shift] === prime && product(digits.map(({ radix }) => radix)) <= prime : then.coin < coins.length;
    demand(fits, "a hash or a parity does not fit its coins or its symbol");
  }
  demand(odds === undefined || odds < plan.odds.length, "a response has unknown odds");
  demand(!counts || counts.every((count, j) => count >= 1 && count <= radices[j]), "an arc is longer than its circle, or empty");
  if (kind === "scrambled") demand(length >= 1 && length <= (circle > 1 ? circle : product(radices.slice(0, -1))), "a scrambled set is longer than its circle, or empty");
  if (kind === "comb") demand(tooth <= circle && window >= 1 && window <= circle && width >= 1, "a comb does not fit its circle");
}

/** What a face adds to the size of a plan. */
function sizeOf({ combinations, steps, parts }) {
  const sizes = parts.map(({ digits, response: { kind, rows }, size }) =>
    512 + combinations * (sum(digits.map(({ terms }) => 1 + terms.length)) + (kind === "comb" ? Math.max(512, size) : 0))
    + (kind === "ladder" ? 2 ** 18 : 0) + (rows ? 16 * rows.length * rows[0].length : 0));
  return 4 * combinations * steps.length + sum(sizes);
}

/** The exclusive limits of the columns of a report but the first; 1 where a face has none. */
export function columnLimits(plan, coins, parts) {
  const answers = parts.flatMap(({ columns, size, response: { kind, rows } }) => Array.from({ length: columns }, (_, i) =>
    kind === "bits" ? 2 ** Math.min(Math.max(size - 32 * i, 0), 32) : rows ? rows[0].length : size));
  return [...coins, ...new Array(plan.coins - coins.length).fill(1), ...answers, ...new Array(plan.answers - answers.length).fill(1)];
}

/** A plan, checked. */
export function readPlan(data, where) {
  const plan = readKeys(data, where), { faces, tables } = plan, mostOf = (count) => most(faces.map(count));
  plan.tops = tables.map(most);
  plan.questions = 0;
  for (const face of faces) {
    face.steps = face.steps.map(({ mantissas, exponents, secret }) => {
      demand(!exponents.length || exponents.length === mantissas.length, "a step does not have an exponent for each of its choices");
      return { ...drawTable(mantissas.map((mantissa, i) => mantissa << BigInt(exponents[i] ?? 0))), secret };
    });
    face.combinations = product(lengthsOf(face.steps));
    demand(face.combinations <= MOST_QUESTIONS, "a face has too many questions");
    for (const { step, values } of columnsIn([face.coins, face.parts])) demand(values.length === face.steps[step]?.weights.length, "a column has a number for every choice of its step");
    face.parts.forEach(preparePart);
    face.first = plan.questions;
    plan.questions += product(lengthsOf(face.steps.filter(({ secret }) => !secret)));
  }
  const inParts = (key) => mostOf(({ parts }) => sum(parts.map((part) => part[key])));
  plan.choice = drawTable(faces.map(({ weight }) => weight));
  plan.blindWords = (mostOf(({ steps }) => steps.length) >> 1) + 1;
  plan.coins = mostOf(({ coins }) => coins.length);
  plan.words = plan.blindWords + plan.coins + inParts("words");
  plan.answers = inParts("columns");
  plan.columns = 1 + plan.coins + plan.answers;
  demand(plan.questions <= MOST_QUESTIONS && sum(faces.map(sizeOf)) + plan.questions * plan.columns <= MOST_SIZE, "it is too large");
  const limits = [plan.questions, ...new Array(plan.columns - 1).fill(1)];
  for (const face of faces) {
    for (const { digits } of face.parts) digits.forEach((digit) => checkDigit(plan, digit));
    eachChoice(face, (choices) => {
      const coins = coinsOf(face, choices), parts = face.parts.map((part) => partOf(part, choices));
      for (const part of parts) checkPart(plan, part, coins);
      columnLimits(plan, coins, parts).forEach((limit, i) => { limits[1 + i] = Math.max(limits[1 + i], limit); });
    });
  }
  plan.widths = limits.map((limit) => [8, 16, 32, 64].find((width) => limit <= 2 ** width));
  return plan;
}

// -- base sets ------------------------------------------------------------------------------------

const gcd = (a, b) => (b ? gcd(b, a % b) : a);

/** The rank of every element of a product of circles: a permutation from SHA-256. */
function scrambledRanks(shape, seed, flips) {
  const size = product(shape), bytes = new Uint8Array(32), view = new DataView(bytes.buffer), ranks = [];
  bytes.set(new TextEncoder().encode("ldpsql scrambled"));
  view.setBigUint64(16, BigInt(seed));
  let digits = "";
  for (let i = 0; i * 4 < size; i++) {
    view.setBigUint64(24, BigInt(i));
    digits += toHex(sha256(bytes));
  }
  const numbers = digits.match(/.{16}/g).slice(0, size).map((number, element) => [number, element]);
  numbers.sort(([a, i], [b, j]) => (a < b ? -1 : a > b ? 1 : i - j)).forEach(([, element], rank) => { ranks[element] = rank; });
  return ranks.map((_, element) => ranks[flatten(split(element, shape).map((c, j) => (Math.floor(flips / 2 ** j) % 2 ? (shape[j] - c) % shape[j] : c)), shape)]);
}

/** The points of a listed base set, and those outside of it, as flat offsets. */
export function listPoints({ response, radices, size }) {
  const { kind, tooth, window, width, length, seed, flips } = response, points = [[], []], circle = radices.at(-1);
  let holds;
  if (kind === "comb") {
    const shared = gcd(tooth, circle), half = width >> 1;
    holds = (u) => {
      const place = Math.floor((((tooth * (u - (window >> 1))) % circle) + circle) % circle / shared);
      return u < window && (place + half) % (circle / shared) < width;
    };
  } else {
    const ranks = scrambledRanks(radices.slice(0, -1), seed, flips);
    holds = (flat) => {
      const rank = ranks[Math.floor(flat / circle)];
      return (circle === 1 ? rank : ((flat % circle) + Math.floor((rank * circle) / ranks.length)) % circle) < length;
    };
  }
  for (let point = 0; point < size; point++) points[holds(point) ? 0 : 1].push(point);
  return points;
}

/** Mixed radix, last digit fastest. */
export const flatten = (digits, radices) => digits.reduce((flat, digit, j) => flat * radices[j] + digit, 0);

/** The digits of a number in mixed radix. */
export const split = (flat, radices) => radices.map((radix, j) => Math.floor(flat / product(radices.slice(j + 1))) % radix);

/** How many points the base set of a response has. */
export function baseOf(part) {
  const { radices, size, response: { kind, counts, length } } = part, circle = radices.at(-1);
  return kind === "arcs" ? product(counts) : kind === "comb" ? listPoints(part)[0].length : length * (circle > 1 ? size / circle : 1);
}

/** Words of every point inside a base set, and of every other. */
export function subsetWords(base, size, odds) {
  const [b, h] = [BigInt(base), BigInt(size)];
  if (base === size) return [WORDS / b, 0n];
  const inside = (((WORDS * WORDS) / (b * odds + (h - b) * WORDS)) * odds) / WORDS;
  return [inside, (WORDS - b * inside) / (h - b)];
}
