/** What a report can tell at most, from a plan's own integers: nobody's statement is trusted. */

import { classOf, symbolOf } from "./draw.js";
import { baseOf, columnsIn, demand, eachChoice, flatten, largestSum, partOf, product, split, subsetWords } from "./plan.js";
import { INFINITE, NOTHING, ONE, add, exceeds, larger, multiply, ratio } from "./rational.js";
import { WORDS } from "./schema.js";

const MOST_RECORDS = 2 ** 18, MOST_SIZES = 2 ** 16, MOST_ENTRIES = 2 ** 22;

const most = (numbers) => numbers.reduce((a, b) => (a > b ? a : b));
const least = (numbers) => numbers.reduce((a, b) => (a < b ? a : b));
const worstOf = (bounds) => bounds.reduce(larger, ONE);

/** All combinations of numbers from several lists. */
const combine = (lists) => lists.reduce((found, list) => found.flatMap((start) => list.map((entry) => [...start, entry])), [[]]);
const upTo = (count) => [...Array(count).keys()];

/**
 * An upper bound of the largest odds that a promise limits, unbounded as [1n, 0n].
 *
 * kind: of the promise.  sensitive: per dimension its sensitive codes, none where all are.
 */
export const odds = (plan, kind, sensitive) => worstOf(plan.faces.map(oddsOfFaces(plan, kind, sensitive)));

/** The least delta with which a plan keeps to these odds. */
export function excess(plan, allowed) {
  const ofFace = oddsOfFaces(plan, "local", []), [top, bottom] = allowed;
  return plan.faces.reduce((total, face, i) => {
    if (!exceeds(ofFace(face), allowed)) return total;
    const [{ response: { rows } }, ...others] = face.parts;
    if (others.length || !rows) return add(total, ONE);
    demand(rows.length ** 2 * rows[0].length <= MOST_ENTRIES, "a table with a delta is too large");
    const gains = rows.flatMap((one) => rows.map((other) => one.reduce((sum, words, a) => {
      const gain = words * bottom - other[a] * top;
      return gain > 0n ? sum + gain : sum;
    }, 0n)));
    return add(total, [BigInt(plan.choice.preimages[i]) * most(gains), (WORDS << 32n) * bottom]);
  }, NOTHING);
}

/** The bound of a face, as a function of it. */
function oddsOfFaces(plan, kind, sensitive) {
  const { sizes } = plan, known = new Map();

  /** Of the likeliest and the least likely point, over the questions of a face. */
  function ofSubset(face, part) {
    const bases = new Map(), budget = plan.odds[part.response.odds], [chance, whole] = largestChoice(face, part);
    eachChoice(face, (choices) => {
      const chosen = partOf(part, choices), pair = [baseOf(chosen), chosen.size];
      bases.set(`${pair}`, pair);
    });
    return worstOf([...bases.values()].filter(([, size]) => size > 1).map(([base, size]) => {
      const key = `${[base, size, budget]}`;
      if (!known.has(key)) known.set(key, pointWords(base, size, budget));
      demand(known.size <= MOST_SIZES, "too many different sizes of subset responses");
      const [inside, outside, fewest] = known.get(key);
      // Of an answer that is the symbol of one secret choice at most.
      return ratio(most([chance * inside + (whole - chance) * outside, outside * whole]), fewest * whole);
    }));
  }

  /**
   * The largest probability of a secret choice; 1 where two can have the same symbol.
   *
   * It is looked for in one form only: one part of one digit without tables, whose steps are all
   * secret, with one favoured symbol and one number of symbols whatever was drawn.
   */
  function largestChoice(face, part) {
    const { digits: [{ table, modulus, radix }, second], then, response } = part;
    if (face.parts.length > 1 || second || then || table !== undefined || modulus || radix.values || !face.steps.every(({ secret }) => secret) || response.kind !== "arcs" || response.counts[0] !== 1) return ONE;
    const ranges = [];
    eachChoice(face, (choices) => {
      const [digit] = partOf(part, choices).digits;
      ranges.push([digit.plus, largestSum(plan, digit)]);
    });
    ranges.sort(([a], [b]) => a - b);
    return ranges.some(([low], i) => i && ranges[i - 1][1] >= low) ? ONE
      : face.steps.map(({ preimages }) => [BigInt(most(preimages)), 1n << 32n]).reduce(multiply, ONE);
  }

  /** Call with records with all combinations of codes of some attributes, 0 in the others. */
  function eachRecord(attributes, visit) {
    const own = attributes.map((a) => sizes[a]), count = product(own), record = sizes.map(() => 0);
    demand(count <= MOST_RECORDS, "a ladder over too many combinations of codes");
    for (let i = 0; i < count; i++) {
      split(i, own).forEach((code, j) => { record[attributes[j]] = code; });
      visit(record);
    }
  }

  /** The worst odds of the answers of a ladder, beside which bits may be about the same attributes. */
  function ofLadder(part, beside) {
    checkLadder(part);
    const { response: { held, rungs }, radices, attributes } = part, bitsOf = new Map();
    if (beside) {
      eachRecord(attributes, (record) => {
        const own = classOf(held, symbolOf(plan, part, record)), bit = flatten(symbolOf(plan, beside, record), beside.radices);
        bitsOf.set(own, (bitsOf.get(own) ?? new Map()).set(bit, ownBit(beside.response, bit)));
      });
    }
    const answers = combine(held.map((limit, j) => (limit < radices[j] ? [0, limit] : [0])));
    return worstOf(answers.filter((answer) => answer.includes(0)).map((answer) => {
      // Its own value, another sensitive one, and one that is not, stand for all.
      const records = combine(answer.map((digit, j) => (digit ? [digit] : [0, ...(held[j] > 1 ? [1] : []), ...(held[j] < radices[j] ? [held[j]] : [])])));
      return worstView(records.flatMap((record) => {
        const own = classOf(held, record);
        let words = 0n;
        for (const { start, end, width, points, drawn } of rungs[own]) {
          const fits = answer.every((digit, j) => (drawn.includes(j) ? digit < held[j] : digit === record[j]));
          if (fits && end > start) words += end - start - width * BigInt(points - 1);
        }
        const bits = bitsOf.get(own);
        return (bits ? represent([...bits.values()]) : [undefined]).map((bit) => [words, bit]);
      }));
    }));
  }

  /** Require that every sensitive value is one that the ladder protects. */
  function checkLadder({ digits, then, response: { held }, attributes }) {
    demand(!then && columnsIn(digits).next().done, "the symbol of a ladder depends on the question");
    const read = digits.map(({ terms }) => [...new Set(terms.map(({ attribute }) => attribute))]), isJoint = kind === "uldp-joint";
    const isInOrder = kind === "uldp" ? read.length === 1 : !isJoint || `${read.map(([a]) => a)}` === `${[...attributes].sort((a, b) => a - b)}` && read.every(({ length }) => length === 1);
    demand(isInOrder, "a ladder has one digit, or one per attribute in order");
    digits.forEach((digit, j) => {
      const unsafe = [];
      eachRecord(read[j], (record) => {
        const [symbol] = symbolOf(plan, { digits: [digit] }, record);
        if (symbol < held[j]) return;
        unsafe.push(symbol);
        const isSensitive = (a) => !sensitive[a]?.length || sensitive[a].includes(record[a]);
        demand(kind.startsWith("uldp") && !read[j].some(isSensitive), "a ladder does not protect a value that the survey calls sensitive");
      });
      const isAlone = isJoint || read[j].length === sizes.length || !unsafe.length;
      demand(isAlone && new Set(unsafe).size === unsafe.length, "a ladder answers several records alike that it does not protect");
    });
  }

  function ofPart(face, part) {
    const { response, size } = part, { kind: form, rows } = response;
    if (form === "keep") return size === 1 ? ONE : INFINITE;
    if (form === "bits") return worstView(represent(upTo(size).map((bit) => ownBit(response, bit))).map((bit) => [1n, bit]));
    if (!rows) return ofSubset(face, part);
    return worstOf(rows[0].map((_, a) => {
      const column = rows.map((row) => row[a]);
      return ratio(most(column), least(column));
    }));
  }

  return (face) => {
    // Of an attribute with one code everybody has the same symbol.
    const parts = face.parts.filter(({ attributes }) => attributes.some((a) => sizes[a] > 1)), isLadder = ({ response }) => response.kind === "ladder";
    let others = parts.filter((part) => !isLadder(part));
    const bounds = parts.filter(isLadder).map((ladder) => {
      const beside = others.find((other) => isBeside(ladder, other));
      others = others.filter((other) => other !== beside);
      return ofLadder(ladder, beside);
    });
    return others.map((part) => ofPart(face, part)).concat(bounds).reduce(multiply, ONE);
  };
}

/** Whether these are bits about what a ladder of one digit is about, whatever the question. */
const isBeside = (ladder, { digits, then, response, attributes }) =>
  ladder.digits.length === 1 && !then && response.kind === "bits" && columnsIn(digits).next().done
  && attributes.every((attribute) => ladder.attributes.includes(attribute));

/** Words of the likeliest point inside a base set, of the likeliest one outside, and of the least likely one. */
function pointWords(base, size, budget) {
  const [b, h] = [BigInt(base), BigInt(size)], [inside, outside] = subsetWords(base, size, budget);
  const last = WORDS - (base === size ? inside * (b - 1n) : b * inside + outside * (h - b - 1n));
  return base === size ? [last, last, inside < last ? inside : last] : [inside, most([outside, last]), least([inside, outside, last])];
}

/** The thresholds of a bit, for the person whose own it is and for others, and its number. */
const ownBit = ({ own, other }, bit) => [own[bit % own.length], other[bit % other.length], bit];

/** Two bits of each pair of thresholds: one of them differs from any other bit. */
function represent(bits) {
  const counts = new Map();
  return bits.filter(([own, other]) => {
    const key = `${own},${other}`, count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    return count < 2;
  });
}

/** The worst odds among records that give an answer so many words and have these bits. */
function worstView(views) {
  const found = new Map();
  for (const [words, bit] of views) {
    const [, all = []] = found.get(bit?.[2]) ?? [];
    found.set(bit?.[2], [bit, [...all, words]]);
  }
  const each = [...found.values()].map(([bit, words]) => [bit, most(words), least(words)]);
  return worstOf(each.flatMap(([bit, top]) => each.map(([other, , low]) => multiply(ratio(top, low), bitOdds(bit, other)))));
}

/** The largest odds of one record's bits against another's, which differ in two of them. */
function bitOdds(one, other) {
  if (!one || !other || one[2] === other[2]) return ONE;
  return [[one[0], one[1]], [other[1], other[0]]].map(([here, there]) => larger(ratio(here, there), ratio(WORDS - here, WORDS - there))).reduce(multiply, ONE);
}
