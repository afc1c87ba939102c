/**
 * Readers of parsed JSON: functions of data, and of where it stands, that give what it means.
 *
 * What a reader refuses is said in one way: where it stands, and what it must be.
 */

import { check } from "./json.js";

const isObject = (data) => typeof data === "object" && data !== null && !Array.isArray(data);

/** Data as it is, for which something holds. */
export const is = (holds, what) => (data, where) => {
  check(holds(data), where, `must be ${what}`);
  return data;
};

export const whole = (low = 0, high = 2 ** 53) => is((data) => Number.isInteger(data) && data >= low && data <= high, `a whole number from ${low} to ${high}`);
export const oneOf = (...values) => is((data) => values.includes(data), values.join(" or "));
export const text = (pattern, what) => is((data) => typeof data === "string" && pattern.test(data), what);
export const hex = (length) => text(new RegExp(`^[0-9a-f]{${length}}$`), `${length} hexadecimal digits, in lower case`);

/** A whole number as BigInt; a text where it exceeds 2^53, and only there. */
export const big = (low, high) => (data, where) => {
  const number = /^(0|[1-9]\d{0,28})$/.test(data) ? BigInt(data) : -1n, isWhole = typeof data === (number > 2 ** 53 ? "string" : "number");
  check(isWhole && number >= low && number <= high, where, `must be a whole number from ${low} to ${high}, above 2^53 a text`);
  return number;
};

/** An array of at least so many entries, and at most so many. */
export const list = (read, least = 0, most = Infinity) => (data, where) => {
  check(Array.isArray(data) && data.length >= least && data.length <= most, where, `must be an array${least || most < Infinity ? ` of ${least} to ${most}` : ""}`);
  return data.map((entry, i) => read(entry, `${where}[${i}]`));
};

/**
 * An object with these keys and no others.
 *
 * keys: by key its reader; [reader] where it may be left out, [reader, default] where it must be
 * left out instead of saying the default.
 */
export const object = (keys) => (data, where) => {
  check(isObject(data), where, "must be an object");
  for (const key of Object.keys(data)) check(Object.hasOwn(keys, key), where, `has the unknown key ${JSON.stringify(key.slice(0, 40))}`);
  const found = {};
  for (const [key, readers] of Object.entries(keys)) {
    const [read, fallback] = [readers].flat(), place = where ? `${where}.${key}` : key;
    if (Object.hasOwn(data, key)) {
      found[key] = read(data[key], place);
      check(fallback === undefined || `${found[key]}` !== `${fallback}`, place, "has its default, with which it is left out");
    } else {
      check(Array.isArray(readers), where, `has no ${key}`);
      found[key] = fallback;
    }
  }
  return found;
};

/** An object of one of several kinds, which one of its keys names. */
export const variant = (key, kinds, shared = {}) => (data, where) => {
  const kind = isObject(data) && Object.keys(kinds).find((name) => name === data[key]);
  check(kind, where, `must be an object whose ${key} is ${Object.keys(kinds).join(" or ")}`);
  return object({ [key]: (name) => name, ...shared, ...kinds[kind] })(data, where);
};
