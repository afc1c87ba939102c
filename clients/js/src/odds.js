/** What a report can tell at most, from a plan's own integers: nobody's statement is trusted. */

import { classOf, symbolOf } from "./draw.js";
import { require } from "./json.js";
import { columnsIn, eachChoice, flatten, largestSum, product, radicesOf, subsetSizes, subsetWords, valueOf } from "./plan.js";
import { INFINITE, ONE, add, exceeds, larger, multiply, ratio } from "./rational.js";
import { WORDS } from "./schema.js";

const MOST_RECORDS = 2 ** 18, MOST_SIZES = 2 ** 16, MOST_ENTRIES = 2 ** 22;

const demand = (holds, what) => require(holds, `the plan cannot be used: ${what}`);
const most = (numbers) => numbers.reduce((a, b) => (a > b ? a : b));
const least = (numbers) => numbers.reduce((a, b) => (a < b ? a : b));
const worstOf = (bounds) => bounds.reduce(larger, ONE);

/** All combinations of numbers from several lists. */
const combine = (lists) => lists.reduce((found, list) => found.flatMap((start) => list.map((entry) => [...start, entry])), [[]]);

/**
 * An upper bound of the largest odds that a promise limits, unbounded as [1n, 0n].
 *
 * kind: of the promise.  sensitive: per dimension its sensitive codes, none where all are.
 */
export function odds(plan, kind, sensitive) {
  const bounds = new Bounds(plan, kind, sensitive);
  return worstOf(plan.faces.map((face) => bounds.ofFace(face)));
}

/** The least delta with which a plan keeps to these odds. */
export function excess(plan, allowed) {
  const bounds = new Bounds(plan, "local", []), [top, bottom] = allowed;
  let total = [0n, 1n];
  plan.faces.forEach((face, i) => {
    if (!exceeds(bounds.ofFace(face), allowed)) return;
    const { rows } = face.parts[0].response;
    if (face.parts.length > 1 || !rows) { total = ONE; return; }
    demand(rows.length ** 2 * rows[0].length <= MOST_ENTRIES, "a table with a delta is too large");
    const gains = rows.flatMap((one) => rows.map((other) => one.reduce((sum, words, a) => {
      const gain = words * bottom - other[a] * top;
      return gain > 0n ? sum + gain : sum;
    }, 0n)));
    total = add(total, [BigInt(plan.choice.preimages[i]) * most(gains), (WORDS << 32n) * bottom]);
  });
  return total;
}

class Bounds {
  constructor(plan, kind, sensitive) {
    Object.assign(this, { plan, kind, sensitive, known: new Map() });
  }

  ofFace(face) {
    // Of an attribute with one code everybody has the same symbol.
    const parts = face.parts.filter(({ attributes }) => [...attributes].some((a) => this.plan.sizes[a] > 1));
    let others = parts.filter(({ response }) => response.kind !== "ladder");
    const bounds = [];
    for (const ladder of parts.filter((part) => !others.includes(part))) {
      const beside = others.find((other) => isBeside(ladder, other));
      others = others.filter((other) => other !== beside);
      bounds.push(this.ofLadder(ladder, beside));
    }
    return [...bounds, ...others.map((part) => this.ofPart(face, part))].reduce(multiply, ONE);
  }

  ofPart(face, part) {
    const { kind, rows } = part.response;
    if (kind === "keep") return part.size === 1 ? ONE : INFINITE;
    if (kind === "bits") return worstView(represent([...Array(part.size).keys()].map((bit) => ownBit(part.response, bit))).map((bit) => [1n, bit]));
    if (!rows) return this.ofSubset(face, part);
    return worstOf(rows[0].map((_, a) => {
      const column = rows.map((row) => row[a]);
      return ratio(most(column), least(column));
    }));
  }

  /** Of the likeliest and the least likely point, over the questions of a face. */
  ofSubset(face, part) {
    const pairs = new Map(), budget = this.plan.odds[part.response.odds];
    eachChoice(face, (choices) => {
      const pair = subsetSizes(part, choices);
      pairs.set(pair.join(), pair);
    });
    const [chance, whole] = this.largestChoice(face, part);
    return worstOf([...pairs.values()].filter(([, size]) => size > 1).map(([base, size]) => {
      const key = [base, size, budget].join();
      if (!this.known.has(key)) this.known.set(key, pointWords(base, size, budget));
      demand(this.known.size <= MOST_SIZES, "too many different sizes of subset responses");
      const [inside, outside, fewest] = this.known.get(key);
      // Of an answer that is the symbol of one secret choice at most.
      const mixed = chance * inside + (whole - chance) * outside;
      return ratio(most([mixed, outside * whole]), fewest * whole);
    }));
  }

  /**
   * The largest probability of a secret choice; 1 where two can have the same symbol.
   *
   * It is looked for in one form only: one part of one digit without tables, whose steps are all
   * secret, with one favoured symbol and one number of symbols whatever was drawn.
   */
  largestChoice(face, { digits, then, response }) {
    const [digit] = digits, isAlone = face.parts.length === 1 && digits.length === 1 && !then && digit.table === undefined;
    const isSimple = isAlone && !digit.modulus && typeof digit.radix === "number" && face.steps.every(({ secret }) => secret);
    if (!isSimple || response.kind !== "arcs" || response.counts[0] !== 1) return ONE;
    const ranges = [];
    eachChoice(face, (choices) => ranges.push([valueOf(digit.plus, choices), largestSum(this.plan, digit, choices)]));
    ranges.sort(([a], [b]) => a - b);
    if (ranges.some(([low], i) => i && ranges[i - 1][1] >= low)) return ONE;
    return face.steps.map(({ preimages }) => [BigInt(most(preimages)), 1n << 32n]).reduce(multiply, ONE);
  }

  /** The worst odds of the answers of a ladder, beside which bits may be about the same attributes. */
  ofLadder(part, beside) {
    this.checkLadder(part);
    const { held } = part.response, bitsOf = new Map();
    if (beside) {
      for (const record of this.records([...part.attributes])) {
        const own = classOf(part.response, symbolOf(this.plan, part, record, [], []));
        const flat = flatten(symbolOf(this.plan, beside, record, [], []), radicesOf(beside, []));
        bitsOf.set(own, (bitsOf.get(own) ?? new Map()).set(flat, ownBit(beside.response, flat)));
      }
    }
    const represented = (own) => (bitsOf.has(own) ? represent([...bitsOf.get(own).values()]) : [undefined]);
    const pairs = held.map((limit, j) => [limit, most([].concat(part.radices[j].values ?? part.radices[j]))]);
    const answers = combine(pairs.map(([limit, radix]) => (limit < radix ? [0, limit] : [0])));
    return worstOf(answers.filter((answer) => answer.includes(0)).map((answer) => {
      // Its own value, another sensitive one, and one that is not, stand for all.
      const records = combine(answer.map((digit, j) => {
        const [limit, radix] = pairs[j];
        return digit ? [digit] : [0, ...(limit > 1 ? [1] : []), ...(limit < radix ? [limit] : [])];
      }));
      return worstView(records.flatMap((record) => {
        const [own, words] = wordsOf(part.response, answer, record);
        return represented(own).map((bit) => [words, bit]);
      }));
    }));
  }

  /** Require that every sensitive value is one that the ladder protects. */
  checkLadder({ digits, then, response: { held }, attributes }) {
    demand(!then && columnsIn(digits).next().done, "the symbol of a ladder depends on the question");
    const read = digits.map(({ terms }) => [...new Set(terms.map(({ attribute }) => attribute))].sort((a, b) => a - b));
    const inOrder = [...attributes].sort((a, b) => a - b);
    if (this.kind === "uldp-joint") demand(read.length === inOrder.length && read.every((one, j) => one.length === 1 && one[0] === inOrder[j]), "a ladder has one digit per attribute, in order");
    if (this.kind === "uldp") demand(read.length === 1, "a ladder has one digit");
    digits.forEach((digit, j) => {
      const unsafe = [];
      for (const record of this.records(read[j])) {
        const [symbol] = symbolOf(this.plan, { digits: [digit] }, record, [], []);
        if (symbol < held[j]) continue;
        unsafe.push(symbol);
        demand(!read[j].some((a) => this.isSensitive(a, record[a])) && this.kind.startsWith("uldp"), "a ladder does not protect a value that the survey calls sensitive");
      }
      const isAlone = this.kind === "uldp-joint" || read[j].length === this.plan.sizes.length || !unsafe.length;
      demand(isAlone && new Set(unsafe).size === unsafe.length, "a ladder answers several records alike that it does not protect");
    });
  }

  isSensitive(attribute, code) {
    const codes = this.sensitive[attribute] ?? [];
    return !codes.length || codes.includes(code);
  }

  /** Records with all combinations of codes of some attributes, 0 in the others. */
  *records(attributes) {
    const { sizes } = this.plan, count = product(attributes.map((a) => sizes[a]));
    demand(count <= MOST_RECORDS, "a ladder over too many combinations of codes");
    const record = sizes.map(() => 0);
    for (let i = 0; i < count; i++) {
      yield record;
      for (let j = attributes.length - 1; j >= 0 && ++record[attributes[j]] === sizes[attributes[j]]; j--) record[attributes[j]] = 0;
    }
  }
}

/** Whether these are bits about what a ladder of one digit is about, whatever the question. */
const isBeside = (ladder, other) =>
  ladder.digits.length === 1 && !other.then && other.response.kind === "bits" && columnsIn(other.digits).next().done
  && [...other.attributes].every((attribute) => ladder.attributes.has(attribute));

/** Words of the likeliest point inside a base set, of the likeliest one outside, and of the least likely one. */
function pointWords(base, size, budget) {
  const [b, h] = [BigInt(base), BigInt(size)], [inside, outside] = subsetWords(base, size, budget);
  if (base === size) {
    const last = WORDS - inside * (b - 1n);
    return [last, last, inside < last ? inside : last];
  }
  const last = WORDS - b * inside - outside * (h - b - 1n);
  return [inside, most([outside, last]), least([inside, outside, last])];
}

/** The thresholds of a bit, for the person whose own it is and for others, and its number. */
const ownBit = ({ own, other }, bit) => [own[bit % own.length], other[bit % other.length], bit];

/** Two bits of each pair of thresholds: one of them differs from any other bit. */
function represent(bits) {
  const counts = new Map();
  return bits.filter(([own, other]) => {
    const kind = `${own},${other}`, count = counts.get(kind) ?? 0;
    counts.set(kind, count + 1);
    return count < 2;
  });
}

/** The worst odds among records that give an answer so many words and have these bits. */
function worstView(views) {
  const found = new Map();
  for (const [words, bit] of views) {
    const known = found.get(bit?.[2]) ?? { bit, words: [] };
    known.words.push(words);
    found.set(bit?.[2], known);
  }
  const all = [...found.values()];
  return worstOf(all.flatMap((one) => all.map((other) =>
    multiply(ratio(most(one.words), least(other.words)), bitOdds(one.bit, other.bit)))));
}

/** The largest odds of one record's bits against another's, which differ in two of them. */
function bitOdds(one, other) {
  if (!one || !other || one[2] === other[2]) return ONE;
  const turned = [[one[0], one[1]], [other[1], other[0]]].map(([here, there]) => larger(ratio(here, there), ratio(WORDS - here, WORDS - there)));
  return turned.reduce(multiply, ONE);
}

/** The class of a record, and its words for an answer, by their digits. */
function wordsOf(response, answer, record) {
  const own = classOf(response, record);
  let words = 0n;
  for (const { start, end, width, points, drawn } of response.rungs[own]) {
    const fits = answer.every((digit, j) => (drawn.includes(j) ? digit < response.held[j] : digit === record[j]));
    if (fits && end > start) words += end - start - width * BigInt(Math.max(points, 1) - 1);
  }
  return [own, words];
}
