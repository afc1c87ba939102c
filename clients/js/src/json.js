/** JSON as surveys have it: whole numbers, distinct keys, bounded depth. See docs/format.md#json. */

const MOST_CHARACTERS = 2 ** 24, DEEPEST = 32, MOST_CONTAINERS = 2 ** 18;

/**
 * Everything that this library refuses.
 *
 * kind: "survey", "policy", "ledger", "report" or "random".
 */
export class LdpsqlError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = "LdpsqlError";
    this.kind = kind;
  }
}

/** Throw unless something holds of a survey. */
export function require(holds, problem) {
  if (!holds) throw new LdpsqlError("survey", `not a survey: ${problem}`);
}

/** What a text says; objects have no prototype. */
export function parseJson(text) {
  let at = 0, containers = 0;
  const skip = () => { while (at < text.length && " \t\n\r".includes(text[at])) at++; };
  const eat = (mark) => text[at] === mark && ++at;
  const readString = () => {
    const start = at++;
    while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    const found = JSON.parse(text.slice(start, ++at));
    require(!/\p{Cs}/u.test(found), "a string holds half a character");
    return found;
  };
  const readContainer = (depth, close, readEntry) => {
    require(depth < DEEPEST && ++containers <= MOST_CONTAINERS, "too many arrays and objects, or nested too deeply");
    at++;
    skip();
    if (eat(close)) return;
    do { readEntry(depth + 1); skip(); } while (eat(","));
    require(eat(close), "it is not JSON");
  };
  const readValue = (depth) => {
    skip();
    const first = text[at];
    if (first === '"') return readString();
    if (first === "[") {
      const list = [];
      readContainer(depth, "]", (inner) => list.push(readValue(inner)));
      return list;
    }
    if (first === "{") {
      const object = Object.create(null);
      readContainer(depth, "}", (inner) => {
        skip();
        require(text[at] === '"', "it is not JSON");
        const key = readString();
        require(!(key in object), "an object has a key twice");
        skip();
        require(eat(":"), "it is not JSON");
        object[key] = readValue(inner);
      });
      return object;
    }
    const [word] = /^[-+.\w]*/.exec(text.slice(at, at + 24));
    at += word.length;
    if (/^(0|-?[1-9]\d{0,15})$/.test(word)) {
      require(BigInt(word) ** 2n <= 1n << 106n, "a whole number above 2^53 is a decimal string");
      return Number(word);
    }
    require(["true", "false", "null"].includes(word), "it is not JSON of whole numbers");
    return JSON.parse(word);
  };
  require(text.length <= MOST_CHARACTERS || [...text].length <= MOST_CHARACTERS, "it is too long");
  let value;
  try {
    value = readValue(0);
  } catch (error) {
    require(error instanceof LdpsqlError, "it is not JSON");
    throw error;
  }
  skip();
  require(at === text.length, "it is not JSON");
  return value;
}

/** The canonical text (RFC 8785) of parsed JSON. */
export function canonical(data) {
  if (Array.isArray(data)) return `[${data.map(canonical)}]`;
  if (data === null || typeof data !== "object") return JSON.stringify(data);
  return `{${Object.keys(data).sort().map((key) => `${JSON.stringify(key)}:${canonical(data[key])}`)}}`;
}
