/** What a question may be about: the columns of surveys, from their texts. */

const NUMBERS = ["int", "float"];

/** A survey as `GET /v1/tables` lists it: its table, label, period and columns. */
export function readSurvey({ table, text }) {
  const { survey } = JSON.parse(text), columns = [];
  const add = (column) => {
    // A dimension and a measure of one name are one column.
    const same = columns.find(({ name }) => name === column.name);
    if (same) same.isMeasure = true;
    else columns.push(column);
  };
  for (const own of survey.schema.dimension) add(dimension(own));
  for (const { name, label, bounds } of survey.schema.measure) add({ name, label, kind: "number", isMeasure: true, detail: `${bounds.join(" to ")}, only for sums and averages` });
  for (const { name, label, type } of survey.schema.public) add({ name, label, kind: "clear", detail: `${type}, in clear`, isText: type === "text" });
  return { table, label: survey.label, period: survey.period, columns };
}

/** A look-up table as `GET /v1/tables` lists it, in the same form: people are joined with it. */
export function readLookup({ name, columns }) {
  return { table: name, columns: columns.map((column) => ({ name: column, kind: "lookup", detail: "of a look-up table" })) };
}

/**
 * A dimension: name, label, detail (a text about its values), and
 *
 * kind: "choice" with values, "number" or "date" with low, high (as texts), isWhole and hasBins; a choice may be
 * of texts (isText), of whole numbers, or of truth values.
 */
function dimension({ name, label, type, values, edges, domain, range, unit, bin_width: width, bins, outside, missing }) {
  const own = { name, label };
  if (type === "bool") return { ...own, kind: "choice", values: [false, true], detail: "true or false" };
  if (type === "category") {
    const all = outside === "other" ? [...values, "(other)"] : values;
    return { ...own, kind: "choice", values: all, isText: typeof all.at(-1) === "string", detail: `${all.length} values${missing === "code" ? ", or NULL" : ""}` };
  }
  const ends = edges ? [edges[0], edges.at(-1)] : (domain ?? range);
  const [low, high] = ends.map(String), hasBins = Boolean(edges || bins || width > 1 || (unit && unit !== "day"));
  const detail = `${low} to ${high}${hasBins ? ", in bins" : ""}`;
  if (NUMBERS.includes(type)) return { ...own, kind: "number", low, high, hasBins, isWhole: type === "int", detail };
  return { ...own, kind: "date", low, high, hasBins, isTime: type === "timestamp", detail };
}
