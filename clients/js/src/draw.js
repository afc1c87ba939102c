/** The interpreter of plans: from codes and random words to a report. */

import { WORDS } from "./schema.js";
import { choose, flatten, listPoints, product, questionOf, radicesOf, split, subsetSizes, subsetWords, valueOf } from "./plan.js";

/** floor(word * range / 2^64). */
const scale = (word, range) => Number((word * BigInt(range)) >> 64n);

/** The whole numbers of the report that codes and `plan.words` words give. */
export function draw(plan, codes, words) {
  const half = (number) => Number(number % 2 ? words[number >> 1] & 0xffffffffn : words[number >> 1] >> 32n);
  const face = plan.faces[choose(plan.choice, half(0))];
  const choices = face.steps.map((step, s) => choose(step, half(1 + s)));
  let place = plan.blindWords;
  const coins = face.coins.map((coin, c) => scale(words[place + c], valueOf(coin, choices)));
  place += plan.coins;
  const numbers = [face.first + questionOf(face, choices), ...coins];
  while (numbers.length < 1 + plan.coins) numbers.push(0);
  for (const part of face.parts) {
    numbers.push(...respond(plan, part, codes, choices, coins, words.slice(place, place + part.words)));
    place += part.words;
  }
  while (numbers.length < plan.columns) numbers.push(0);
  return numbers;
}

/** The digits that a part answers about. */
export function symbolOf(plan, part, codes, choices, coins) {
  const digits = part.digits.map(({ terms, plus, table, modulus, radix }) => {
    let total = valueOf(plus, choices);
    for (const { attribute, coefficient, divide, table: looked, cuts } of terms) {
      const code = codes[attribute];
      let look = Math.floor(code / valueOf(divide, choices));
      if (looked !== undefined) look = plan.tables[looked][code];
      if (cuts !== undefined) look = plan.tables[cuts].filter((cut) => cut <= code).length;
      total += valueOf(coefficient, choices) * look;
    }
    if (table !== undefined) total = plan.tables[table][total];
    return modulus ? total % valueOf(radix, choices) : total;
  });
  const { then } = part;
  if (!then) return digits;
  const flat = flatten(digits, part.digits.map(({ radix }) => valueOf(radix, choices)));
  if (then.kind === "parity") {
    let common = (BigInt(valueOf(then.times, choices)) * BigInt(coins[then.coin]) + BigInt(valueOf(then.plus, choices))) & BigInt(flat), parity = 0;
    for (; common; common >>= 1n) parity ^= Number(common & 1n);
    return [parity];
  }
  const prime = valueOf(then.prime, choices);
  let inverse = 1, power = flat % prime;
  for (let exponent = prime - 2; exponent; exponent >>= 1) {
    if (exponent & 1) inverse = (inverse * power) % prime;
    power = (power * power) % prime;
  }
  const mixed = ((coins[then.slope] + 1) * (flat ? inverse : 0) + coins[then.shift]) % prime;
  return [mixed % valueOf(then.values, choices)];
}

/** The answer columns of a part. */
function respond(plan, part, codes, choices, coins, words) {
  const { response, fakes } = part, radices = radicesOf(part, choices), size = product(radices);
  const symbol = symbolOf(plan, part, codes, choices, coins), flat = flatten(symbol, radices), [word] = words;
  switch (response.kind) {
    case "keep":
      return [flat, ...words.slice(0, fakes).map((fake) => scale(fake, size))].sort((a, b) => a - b);
    case "bits": {
      const columns = new Uint32Array(part.columns);
      words.forEach((random, bit) => {
        const limits = bit === flat ? response.own : response.other;
        if (bit < size && random < limits[bit % limits.length]) columns[bit >> 5] |= 1 << (bit & 31);
      });
      return [...columns];
    }
    case "rows":
    case "staircase": {
      let end = 0n, found = 0;
      // The answer whose words hold this one; every entry of the row is looked at.
      response.rows[flat].forEach((count) => { end += count; found += Number(word >= end); });
      return [found];
    }
    case "ladder":
      return [flatten(climb(response, symbol, word), radices)];
    default: {
      const offset = subsetOffset(part, plan.odds[response.odds], radices, choices, word);
      return [flatten(symbol.map((digit, j) => (digit - offset[j] + radices[j]) % radices[j]), radices)];
    }
  }
}

/** The class of a symbol: bit j says that digit j is below held[j]. */
export const classOf = ({ held }, symbol) => held.reduce((number, limit, j) => number + (Number(symbol[j] < limit) << j), 0);

function climb({ held, rungs }, symbol, word) {
  let digits = symbol;
  for (const { start, end, width, points, drawn } of rungs[classOf({ held }, symbol)]) {
    const index = Number((word - start) / (width || 1n)), last = Math.max(points, 1) - 1;
    const places = [...drawn].sort((a, b) => a - b);
    const anew = split(Math.min(Math.max(index, 0), last), places.map((j) => held[j]));
    const moved = symbol.map((digit, j) => (places.includes(j) ? anew[places.indexOf(j)] : digit));
    if (word >= start && word < end) digits = moved;
  }
  return digits;
}

/** The offsets that a word means. */
function subsetOffset(part, odds, radices, choices, word) {
  const { response } = part, [base, size] = subsetSizes(part, choices), [inside, outside] = subsetWords(base, size, odds);
  const border = BigInt(base) * inside, isInside = base === size || word < border;
  const index = isInside ? word / inside : (word - border) / outside, count = isInside ? base : size - base;
  const place = index < count ? Number(index) : count - 1;
  if (response.kind !== "arcs") return split(listPoints(response, radices, choices)[isInside ? 0 : 1][place], radices);
  const counts = response.counts.map((arc) => valueOf(arc, choices));
  return isInside ? split(place, counts) : outsideArcs(radices, counts, place);
}

/** Offsets outside a product of intervals: in piece p, digit p is the first one outside of its own. */
function outsideArcs(radices, counts, place) {
  for (let p = 0, rest = place; ; p++) {
    const spans = radices.map((radix, j) => (j < p ? counts[j] : j === p ? radix - counts[j] : radix));
    const points = product(spans);
    if (rest < points) return split(rest, spans).map((offset, j) => (j === p ? counts[j] + offset : offset));
    rest -= points;
  }
}
