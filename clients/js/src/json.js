/** JSON as surveys have it: whole numbers, distinct keys, bounded depth. See docs/format.md#json. */

const MOST_CHARACTERS = 2 ** 24, DEEPEST = 32, MOST_CONTAINERS = 2 ** 18, MOST_KEYS = 2 ** 19;

/**
 * Everything that this library refuses.
 *
 * kind: "not allowed", "not asked" (now, but in other periods) or "budget spent", of what a person does
 * not give; or "survey", "ledger", "report" or "random", of what is at fault.
 */
export class LdpsqlError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = "LdpsqlError";
    this.kind = kind;
  }
}

/** Throw unless something holds of a part of a survey, "" for the whole. */
export function check(holds, where, problem) {
  if (!holds) throw new LdpsqlError("survey", `not a survey: ${where || "it"} ${problem}`);
}

/** How often a mark occurs. */
function count(text, mark) {
  let found = 0;
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) found++;
  return found;
}

/** What a text says. */
export function parseJson(text) {
  let data, bare, keys = 0;
  try {
    check(text.length <= MOST_CHARACTERS || (text.length <= 2 * MOST_CHARACTERS && [...text].length <= MOST_CHARACTERS), "", "is too long");
    // Without what stands in strings; in JSON every one of them ends.
    bare = text.replace(/"[^"\\]*(\\.[^"\\]*)*"/g, '"');
    check(count(bare, "[") + count(bare, "{") <= MOST_CONTAINERS && count(bare, ":") <= MOST_KEYS, "", "has too many parts");
    data = JSON.parse(text);
  } catch (error) {
    check(error instanceof LdpsqlError, "", "is not JSON");
    throw error;
  }
  // As they are written: of 2^53 + 1, 1e3 and -0 the parser makes other numbers. Of up to 15 digits it does not.
  for (const word of bare.match(/(?<=^|[\s,[:])(?!(?:0|-?[1-9]\d{0,14})(?:[\s,\]}]|$))[-\d][^\s,\]}]*/g) ?? []) {
    const number = Number(word);
    check(String(number) === word && Number.isInteger(number) && Math.abs(number) <= 2 ** 53, word.slice(0, 40), "is not a whole number up to 2^53: a larger one is a decimal string");
  }
  const mayBeHalf = /\\u|\p{Cs}/u.test(text);
  const walk = (value, depth) => {
    if (typeof value === "string") check(!mayBeHalf || !/\p{Cs}/u.test(value), "a string", "holds half a character");
    if (!value || typeof value !== "object") return;
    check(depth < DEEPEST, "", "is nested too deeply");
    if (Array.isArray(value)) return value.forEach((entry) => walk(entry, depth + 1));
    for (const key of Object.keys(value)) {
      keys++;
      walk(key, depth + 1);
      walk(value[key], depth + 1);
    }
  };
  walk(data, 0);
  check(count(bare, ":") === keys, "an object", "has a key twice");
  return data;
}

/** The canonical text (RFC 8785) of parsed JSON. */
export function canonical(data) {
  if (Array.isArray(data)) return `[${data.map(canonical)}]`;
  if (data === null || typeof data !== "object") return JSON.stringify(data);
  return `{${Object.keys(data).sort().map((key) => `${JSON.stringify(key)}:${canonical(data[key])}`)}}`;
}
