/** What may stand where somebody writes: tables, columns, values, functions and keywords of SQL. */

import { quoteName, quoteValue } from "./builder.js";

export const KEYWORDS = ("SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT AND OR NOT IN BETWEEN LIKE IS NULL AS DISTINCT CASE WHEN THEN ELSE END JOIN LEFT USING ON WITH UNION ALL " +
  "FILTER EXISTS WINDOW QUALIFY OFFSET NULLS FIRST LAST INTERVAL VALUES CAST OVER PARTITION DESC ASC EXPLAIN DESCRIBE ROLLUP CUBE DATE TIMESTAMP TRUE FALSE").split(" ");
export const FUNCTIONS = ("COUNT SUM AVG MEDIAN QUANTILE_CONT QUANTILE_DISC MODE CDF HISTOGRAM VAR_POP VAR_SAMP STDDEV_POP STDDEV_SAMP CORR COVAR_POP REGR_SLOPE STDERR " +
  "bin date_trunc ROUND").split(" ");
const VALUE = /([a-z_]\w*|"(?:[^"]|"")+")\s*(?:=|<>|!=|<=?|>=?|\bIN\s*\((?:[^()]*,)?|\bLIKE\b)\s*('(?:[^']|'')*|[\w.-]*)$/i;
const MOST = 500;

/**
 * What may stand at a place: `from` and `to`, what it takes the place of, and options (label, apply, type, detail); null for nothing.
 *
 * before, after: the SQL up to the place, and behind it.  tables: as `readSurvey` and `readLookup` give them.  wanted: whether the person asked
 * for it, so that it is shown before a letter is written.
 */
export function complete(before, after, tables, wanted = false) {
  const words = new Set((before + after).toLowerCase().match(/\w+/g));
  const named = tables.filter(({ table }) => words.has(table.toLowerCase()));
  const columns = (named.length ? named : tables).flatMap((own) => own.columns.map((column) => ({ ...column, table: own.table })));
  const value = before.match(VALUE);
  if (value) {
    const name = value[1].replace(/^"|"$/g, "").toLowerCase();
    const options = columns.filter((column) => column.name === name).flatMap((column) => (column.values ?? []).slice(0, MOST).map((each) => quoteValue(column, each)));
    // The quotation mark that the editor has set behind is part of it.
    const to = before.length + (value[2].startsWith("'") && after.startsWith("'") ? 1 : 0);
    if (options.length) return { from: before.length - value[2].length, to, options: [...new Set(options)].map((label) => ({ label, type: "constant" })) };
  }
  // Within a text nothing else can stand.
  if ((before.match(/'/g) ?? []).length % 2) return null;
  const word = before.match(/"?\w*$/)[0];
  if (!word && !wanted) return null;
  return {
    from: before.length - word.length,
    to: before.length,
    options: [
      ...columns.map(({ name, label, detail, table }) => ({ label: quoteName(name), type: "property", detail: `${table}: ${label ? `${label}, ` : ""}${detail}`, boost: 2 })),
      ...tables.map(({ table, label }) => ({ label: quoteName(table), type: "class", detail: label ?? "table", boost: 1 })),
      ...FUNCTIONS.map((label) => ({ label, type: "function" })),
      ...KEYWORDS.map((label) => ({ label, type: "keyword" })),
    ],
  };
}
