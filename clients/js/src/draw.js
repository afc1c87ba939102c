/** The interpreter of plans: from codes and random words to a report. */

import { baseOf, coinsOf, flatten, listPoints, partOf, product, questionOf, split, subsetWords } from "./plan.js";

/** floor(word * range / 2^64). */
const scale = (word, range) => Number((word * BigInt(range)) >> 64n);

/** The alternative that a half of a word means. */
const choose = ({ starts }, half) => starts.findLastIndex((start) => start <= half);

/** The whole numbers of the report that codes and `plan.words` words give. */
export function draw(plan, codes, words) {
  const half = (number) => Number((words[number >> 1] >> (number % 2 ? 0n : 32n)) & 0xffffffffn);
  const face = plan.faces[choose(plan.choice, half(0))], choices = face.steps.map((step, s) => choose(step, half(1 + s)));
  let place = plan.blindWords;
  const coins = coinsOf(face, choices).map((range, c) => scale(words[place + c], range)), numbers = [face.first + questionOf(face, choices), ...coins];
  const fill = (count) => { while (numbers.length < count) numbers.push(0); };
  fill(1 + plan.coins);
  place += plan.coins;
  for (const part of face.parts) {
    numbers.push(...respond(plan, partOf(part, choices), codes, coins, words.slice(place, place + part.words)));
    place += part.words;
  }
  fill(plan.columns);
  return numbers;
}

/** The digits that a part, with plain numbers, answers about. */
export function symbolOf({ tables }, { digits, then }, codes, coins) {
  const symbol = digits.map(({ terms, plus, table, modulus, radix }) => {
    let total = plus;
    for (const { attribute, coefficient, divide, table: looked, cuts } of terms) {
      const code = codes[attribute];
      total += coefficient * (looked !== undefined ? tables[looked][code] : cuts !== undefined ? tables[cuts].filter((cut) => cut <= code).length : Math.floor(code / divide));
    }
    if (table !== undefined) total = tables[table][total];
    return modulus ? total % radix : total;
  });
  if (!then) return symbol;
  const flat = flatten(symbol, digits.map(({ radix }) => radix)), { prime } = then;
  if (!prime) {
    let common = (BigInt(then.times) * BigInt(coins[then.coin]) + BigInt(then.plus)) & BigInt(flat), parity = 0n;
    for (; common; common >>= 1n) parity ^= common & 1n;
    return [Number(parity)];
  }
  // flat ** (prime - 2) mod prime, its inverse.
  let inverse = flat && 1, power = flat % prime;
  for (let exponent = prime - 2; exponent; exponent >>= 1) {
    if (exponent & 1) inverse = (inverse * power) % prime;
    power = (power * power) % prime;
  }
  return [(((coins[then.slope] + 1) * inverse + coins[then.shift]) % prime) % then.values];
}

/** The answer columns of a part with plain numbers. */
function respond(plan, part, codes, coins, words) {
  const { response, radices, size } = part, symbol = symbolOf(plan, part, codes, coins), flat = flatten(symbol, radices), [word] = words;
  const { kind, rows } = response;
  if (kind === "keep") return [flat, ...words.map((fake) => scale(fake, size))].sort((a, b) => a - b);
  if (kind === "bits") {
    const columns = new Uint32Array(part.columns);
    words.forEach((random, bit) => {
      const limits = bit === flat ? response.own : response.other;
      if (bit < size && random < limits[bit % limits.length]) columns[bit >> 5] |= 1 << (bit & 31);
    });
    return columns;
  }
  if (rows) {
    let end = 0n, found = 0;
    // The answer whose words hold this one; every entry of the row is looked at.
    for (const count of rows[flat]) found += Number(word >= (end += count));
    return [found];
  }
  if (kind === "ladder") return [flatten(climb(response, symbol, word), radices)];
  const offset = subsetOffset(part, plan.odds[response.odds], word);
  return [flatten(symbol.map((digit, j) => (digit - offset[j] + radices[j]) % radices[j]), radices)];
}

/** The class of a symbol: bit j says that digit j is below held[j]. */
export const classOf = (held, symbol) => held.reduce((number, limit, j) => number + (Number(symbol[j] < limit) << j), 0);

function climb({ held, rungs }, symbol, word) {
  let digits = symbol;
  for (const { start, end, width, points, drawn } of rungs[classOf(held, symbol)]) {
    const index = Number((word - start) / (width || 1n)), places = [...drawn].sort((a, b) => a - b);
    const anew = split(Math.min(Math.max(index, 0), points - 1), places.map((j) => held[j]));
    const moved = symbol.map((digit, j) => anew[places.indexOf(j)] ?? digit);
    if (word >= start && word < end) digits = moved;
  }
  return digits;
}

/** The offsets that a word means. */
function subsetOffset(part, odds, word) {
  const { response: { counts }, radices, size } = part, base = baseOf(part), [inside, outside] = subsetWords(base, size, odds);
  const border = BigInt(base) * inside, isInside = base === size || word < border;
  const index = isInside ? word / inside : (word - border) / outside, last = (isInside ? base : size - base) - 1;
  let place = Math.min(Number(index), last);
  if (!counts) return split(listPoints(part)[isInside ? 0 : 1][place], radices);
  if (isInside) return split(place, counts);
  // In piece p, digit p is the first one outside of its own arc.
  for (let p = 0; ; p++) {
    const spans = radices.map((radix, j) => (j < p ? counts[j] : j === p ? radix - counts[j] : radix)), points = product(spans);
    if (place < points) return split(place, spans).map((offset, j) => (j === p ? counts[j] + offset : offset));
    place -= points;
  }
}
