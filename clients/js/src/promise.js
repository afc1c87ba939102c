/** What is promised: of a report by itself, and once reports are shuffled. */

import { check } from "./json.js";
import { ONE, decimal, exceeds } from "./rational.js";
import { is, object, variant, whole } from "./shapes.js";

const PLAIN = /^\d{1,30}(\.\d{1,30})?$/;

/** A reader of decimal texts within limits, of at most 20 digits. */
const number = (low, high, what, pattern = /./) => is((data) => {
  const read = typeof data === "string" && pattern.test(data) && decimal(data);
  return read && data.replace(/e.*/i, "").replace(".", "").replace(/^0+/, "").length <= 20 && !exceeds(low, read) && !exceeds(read, high);
}, `a decimal text from ${what}`);

const LEAST = [1n, 1000n], MOST = [20n, 1n], RANGE = "0.001 to 20", epsilon = number(LEAST, MOST, RANGE, PLAIN);
const delta = is((data) => typeof data === "string" && PLAIN.test(data) && exceeds(ONE, decimal(data)), "a decimal text from 0 to below 1");
const readKeysOfShuffle = object({ epsilon: number(LEAST, MOST, RANGE), delta: (data) => data, users: whole(2, 1e9), honest: number([1n, 10n ** 60n], ONE, "1e-60 to 1") });

/** What holds of reports once they are shuffled, and how many honest people that needs. */
export function readShuffle(data, where) {
  const keys = readKeysOfShuffle(data, where), [top, bottom] = decimal(keys.honest), people = (BigInt(keys.users) * top) / bottom;
  check(people >= 2n, where, "must have at least 2 honest users");
  number([1n, 10n ** 30n], [1n, people], "1e-30 to 1 / (honest users)")(keys.delta, `${where}.delta`);
  return { ...keys, epsilon: decimal(keys.epsilon), delta: decimal(keys.delta), honest: decimal(keys.honest), people };
}

const readKeys = variant("kind", { local: { epsilon }, uldp: { epsilon }, "uldp-joint": { epsilon }, none: {} }, { delta: [delta], shuffle: [readShuffle] });

export function readPromise(data, where) {
  const keys = readKeys(data, where);
  return { ...keys, epsilon: keys.epsilon && decimal(keys.epsilon), delta: decimal(keys.delta ?? "0") };
}
