/** Writes SQL from what somebody has clicked together. */

/** Names that SQL reads as something else. */
const RESERVED = new Set(("all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create default deferrable desc " +
  "describe distinct do else end except false fetch for foreign from grant group having in initially intersect into join lambda lateral leading left limit not null offset on " +
  "only or order pivot placing primary qualify references returning right select show some summarize symmetric table then to trailing true union " +
  "unique unpivot using variadic when where window with").split(" "));

/** A name as SQL. */
export const quoteName = (name) => (/^[a-z_][a-z0-9_]*$/.test(name) && !RESERVED.has(name) ? name : `"${name.replaceAll('"', '""')}"`);

/** A value of a column as SQL; text: as a person typed it, or a declared value. */
export function quoteValue(column, value) {
  if (column.kind === "date") return `${column.isTime ? "TIMESTAMP" : "DATE"} ${quoteText(value)}`;
  if (column.isText) return quoteText(value);
  if (typeof value === "string" && !isNumber(value)) throw new TypeError(`${value} is no number`);
  return String(value).trim();
}

const quoteText = (text) => `'${String(text).replaceAll("'", "''")}'`;

/** What can be asked of a column, by name: a label for people, of which columns, and the SQL. */
export const MEASURES = {
  count: { label: "How many people", sql: () => "COUNT(*)" },
  share: { label: "Share of people", sql: () => "" },
  average: { label: "Average of", takes: (column) => column.kind === "number", sql: (name) => `AVG(${name})` },
  sum: { label: "Sum of", takes: (column) => column.kind === "number", sql: (name) => `SUM(${name})` },
  median: { label: "Median of", takes: (column) => column.kind === "number" && "low" in column, sql: (name) => `MEDIAN(${name})` },
  quantiles: { label: "Deciles and median of", takes: (column) => column.kind === "number" && "low" in column, sql: (name) => `QUANTILE_CONT(${name}, [0.1, 0.25, 0.5, 0.75, 0.9])` },
};

const isNumber = (text) => /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text.trim());
const isDay = (text) => /^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2})?)?$/.test(text.trim());

/** A condition as SQL; "" where it says nothing yet, and a `TypeError` for what is no value of its column. */
export function writeCondition({ column, from = "", to = "", values = [], text = "" }) {
  const name = quoteName(column.name);
  if (column.kind === "choice") {
    if (!values.length || values.length === column.values.length) return "";
    if (typeof column.values[0] === "boolean") return values[0] ? name : `NOT ${name}`;
    const listed = values.map((value) => quoteValue(column, value));
    return listed.length === 1 ? `${name} = ${listed[0]}` : `${name} IN (${listed.join(", ")})`;
  }
  if (column.kind === "clear") return text === "" ? "" : `${name} = ${column.isText || !isNumber(text) ? quoteText(text) : text.trim()}`;
  const [low, high] = [from, to].map((end) => {
    if (end.trim() === "") return "";
    if (!(column.kind === "date" ? isDay : isNumber)(end)) throw new TypeError(`${end} is no ${column.kind}`);
    return quoteValue(column, end.trim());
  });
  if (low && high) return `${name} BETWEEN ${low} AND ${high}`;
  if (low || high) return low ? `${name} >= ${low}` : `${name} <= ${high}`;
  return "";
}

/** A key to group by as SQL: a column, by itself or in steps of a width (a number, or a unit of time). */
export function writeKey({ column, step = "" }) {
  const name = quoteName(column.name);
  if (!step) return name;
  if (column.kind === "date") {
    if (!["day", "week", "month", "quarter", "year"].includes(step)) throw new TypeError(`${step} is no unit of time`);
    return `date_trunc('${step}', ${name})`;
  }
  if (!isNumber(step) || Number(step) <= 0) throw new TypeError(`${step} is no width`);
  return `bin(${name}, ${step.trim()})`;
}

/**
 * A question as SQL.
 *
 * table: a name.  measure: of `MEASURES`.  column: that it is of, if it takes one.  conditions, keys: see `writeCondition`
 * and `writeKey`. A `TypeError` names what is no value.
 */
export function writeQuestion({ table, measure, column, conditions = [], keys = [] }) {
  const where = conditions.map(writeCondition).filter(Boolean);
  const by = keys.map(writeKey), aliases = keys.map(({ column: { name }, step }, i) => (step ? `${by[i]} AS ${quoteName(`${name}_${step.replace(/\W/g, "_")}`)}` : by[i]));
  let what = MEASURES[measure].sql(column && quoteName(column.name)), rest = where;
  if (measure === "share" && by.length) what = "COUNT(*) / SUM(COUNT(*)) OVER () AS share";
  // Of everybody: a condition is what the share is of.
  else if (measure === "share") [what, rest] = [`AVG(${where.length ? where.map((each) => (where.length > 1 ? `(${each})` : each)).join(" AND ") : "true"}) AS share`, []];
  const lines = [`SELECT ${[...aliases, what].join(", ")}`, `FROM ${quoteName(table)}`];
  if (rest.length) lines.push(`WHERE ${rest.join("\n  AND ")}`);
  if (by.length) lines.push(`GROUP BY ${by.join(", ")}`, `ORDER BY ${by.map((_, i) => i + 1).join(", ")}`);
  return lines.join("\n");
}

/** What is usually asked of a survey with periods, over them: a label and the SQL of each question. */
export function writeTimelines({ table, period, columns }) {
  if (!period) return [];
  const ask = (what, keys = "period") => `SELECT ${keys}, ${what}\nFROM ${quoteName(table)}\nGROUP BY ${keys}\nORDER BY ${keys}`;
  const questions = columns.filter(({ name }) => name !== "period").map((column) => {
    const name = quoteName(column.name);
    if (column.kind === "choice" && typeof column.values[0] === "boolean") return [column.name, ask(`AVG(${name}) AS share`)];
    if (column.kind === "choice" || column.isText) return [column.name, ask("COUNT(*)", `period, ${name}`)];
    if (column.kind === "number") return [column.name, ask("low" in column ? `QUANTILE_CONT(${name}, [0.5, 0.95])` : `AVG(${name})`)];
    return null;
  });
  return [["Who answered", ask("COUNT(*)")], ...questions.filter(Boolean)].map(([label, sql]) => ({ label, sql }));
}
