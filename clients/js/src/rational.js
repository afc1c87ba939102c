/** Exact fractions: pairs of BigInts, the second 0n for what is unbounded. */

export const NOTHING = [0n, 1n];
export const ONE = [1n, 1n];
export const INFINITE = [1n, 0n];
const PRECISION = 256n;

/** A fraction from a decimal text, as "0.5" or "1E-7", or from a number's shortest text. */
export function decimal(text) {
  const [, whole, part = "", exponent = 0] = /^(\d{1,100})(?:\.(\d{1,100}))?(?:e([+-]?\d{1,3}))?$/i.exec(text) ?? [];
  if (!whole) return undefined;
  const places = Number(exponent) - part.length, digits = BigInt(whole + part);
  return places < 0 ? [digits, 10n ** BigInt(-places)] : [digits * 10n ** BigInt(places), 1n];
}

export const add = ([a, b], [c, d]) => [a * d + c * b, b * d];
export const multiply = ([a, b], [c, d]) => [a * c, b * d];
export const exceeds = ([a, b], [c, d]) => a * d > c * b;
export const larger = (one, other) => (exceeds(other, one) ? other : one);

/** likely / unlikely, at least 1. */
export const ratio = (likely, unlikely) => (likely > unlikely ? [likely, unlikely] : ONE);

/** A lower bound of e^x, by its series: every term is rounded down. */
export function expBelow([top, bottom]) {
  let sum = 0n, term = 1n << PRECISION;
  for (let k = 1n; term > 0n; k++) {
    sum += term;
    term = (term * top) / (bottom * k);
  }
  return [sum, 1n << PRECISION];
}

/** A fraction as decimal text, rounded up to so many places. */
export function decimalText([top, bottom], places = 30) {
  const scale = 10n ** BigInt(places), scaled = (top * scale + bottom - 1n) / bottom;
  const part = String(scaled % scale).padStart(places, "0").replace(/0+$/, "");
  return String(scaled / scale) + (part && `.${part}`);
}
