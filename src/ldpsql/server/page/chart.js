/** Decides how an answer can be drawn; what draws it is picture.js. */

const NUMBER = /^(u?int|half|float|double|decimal)/, TIME = /^(date|timestamp)/;
const MOST_ROWS = 5000, MOST_PANELS = 12, MOST_BARS = 200, FEW = 8;

/**
 * What of an answer makes a picture, or `{ reason }`, a text, why nothing does.
 *
 * answer: as the collector gives it, with texts. The result has kinds, the ways to draw it, best first; panels, each with a
 * title and points (x, y, value, low, high, isWeak, text; of a set of quantiles q, one of them, from 1); x, y: name and type ("number", "date",
 * "kind") of the keys, as far as there are any; set: how many quantiles there are.
 */
export function readPicture({ columns, rows, intervals, texts }) {
  const type = (i) => (columns[i].coded ? "kind" : NUMBER.test(columns[i].type) ? "number" : TIME.test(columns[i].type) ? "date" : "kind");
  const all = columns.map((_, i) => i);
  const values = all.filter((i) => i in intervals);
  const keys = all.filter((i) => !values.includes(i));
  if (!values.length) return { reason: "no column is an estimate" };
  if (keys.length > 2) return { reason: "three keys and more are a table only" };
  if (rows.length > MOST_ROWS) return { reason: `more than ${MOST_ROWS} rows are a table only` };
  if (!rows.length) return { reason: "there is no row" };

  const bases = values.map((i) => columns[i].name.match(/^(.*)\[\d+\]$/s)?.[1]);
  const isSet = values.length > 1 && bases[0] !== undefined && bases.every((base) => base === bases[0]);
  if (!keys.length && !isSet) return { reason: "a row by itself is a table only" };
  const axis = (i) => ({ name: columns[i].name, type: type(i) });
  let [first, second] = keys;
  // What has an order, or more values, goes along the width.
  const different = (i) => new Set(rows.map((row) => row[i])).size;
  const isBetter = (a, b) => (type(a) === "kind") < (type(b) === "kind") || ((type(a) === "kind") === (type(b) === "kind") && different(a) > different(b));
  if (second !== undefined && isBetter(second, first)) [first, second] = [second, first];
  const point = (row, r, i, q) => {
    const { low, high } = intervals[i] ?? {}, text = texts[r][i];
    const x = keys.length ? row[first] : columns[i].name;
    return {
      x: x === null && type(first) === "kind" ? "NULL" : x, y: second === undefined ? undefined : texts[r][second],
      value: row[i], low: low?.[r] ?? null, high: high?.[r] ?? null, isWeak: text.endsWith("~"), text, q,
    };
  };
  const x = keys.length ? axis(first) : { name: "quantile", type: "kind" };
  const points = (i, q) => rows.map((row, r) => point(row, r, i, q)).filter(({ x }) => x !== null);
  const panels = isSet
    ? [{ title: bases[0], points: values.flatMap((i, q) => points(i, q + 1)) }]
    : values.map((i) => ({ title: columns[i].name, points: points(i) }));
  const base = { panels, x, y: second === undefined ? undefined : axis(second), set: isSet ? values.length : 0 };

  const isOrdered = x.type !== "kind", places = keys.length ? different(first) : values.length;
  const plain = [...(places <= MOST_BARS ? ["bars"] : []), "points"];
  if (isSet && !keys.length) return { ...base, kinds: ["points"] };
  if (isSet) return second === undefined && isOrdered ? { ...base, kinds: ["bands", "points"] } : { reason: "quantiles by this key are a table only" };
  if (second === undefined) {
    if (!isOrdered && places > MOST_BARS) return { reason: `more than ${MOST_BARS} values are a table only` };
    return { ...base, kinds: !isOrdered ? plain : places > FEW ? ["lines", ...plain] : [...plain, "lines"] };
  }
  if (different(second) > MOST_PANELS) return { ...base, kinds: ["heat map"] };
  return { ...base, kinds: ["heat map", ...plain, ...(isOrdered ? ["lines"] : [])] };
}

/** What a screen reader says of a picture. */
export function describePicture({ panels, x, y }, kind) {
  const what = panels.map(({ title }) => title).join(", ");
  return `${kind[0].toUpperCase()}${kind.slice(1)} of ${what} by ${x.name}${y ? ` and ${y.name}` : ""}, with error bars. The table holds the numbers.`;
}
