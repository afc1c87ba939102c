/** What is to be expected of so many reports: variances grow with their number. */

/** Expected errors of kinds of questions, forecast for so many people, with another number of reports. */
export const expectErrors = (kinds, people, reports) => kinds.map(({ text, limit, half_width: halfWidth, share }) => ({
  text, limit, halfWidth: halfWidth * Math.sqrt(reports / people), share: share * Math.sqrt(people / reports),
}));

const KINDS = { range: (name) => `a range of ${name}`, prefix: (name) => `${name} up to a value`, "=": (name) => `a value of ${name}` };

/** A kind of question in plain words, from the words of a forecast; a declared query keeps its number. */
export function plainly(text) {
  const [, several, count] = text.match(/^(.*), (\d+) predicates?$/) ?? [];
  const whose = (target) => (target === "COUNT" ? "people" : target.replace(/^SUM\((.*)\)$/, "sum of $1"));
  if (several) return `${whose(several)}, ${count} condition${count === "1" ? "" : "s"}`;
  if (text === "everybody" || text.startsWith("query ")) return text;
  const [, sum, conditions] = text.match(/^(SUM\(\w+\))?(?: by )?(.*)$/);
  const named = conditions && conditions.split(" x ").map((condition) => KINDS[condition.split(" ")[1]]?.(condition.split(" ")[0]) ?? condition).join(" and ");
  return [sum && whose(sum), named && `people with ${named}`].filter(Boolean).join(" of ");
}

/** The fewest reports, of three significant digits, whose error is at most this share, where so many reports have this one. */
export function reportsFor(share, reports, wanted) {
  // What follows from rounding errors alone takes no report more.
  const fewest = Math.max(1, Math.ceil(reports * (share / wanted) ** 2 * (1 - 1e-12)));
  const unit = 10 ** Math.max(0, String(fewest).length - 3);
  return Math.ceil(fewest / unit) * unit;
}

/** The natural logarithm of a fraction of BigInts from 1 on, rounded up to six decimals; "unbounded" for one without an end. */
export function logarithm([top, bottom]) {
  if (!bottom) return "unbounded";
  // The odds of surveys are below e^20, so that 2^60 of them are a double's range away from its end.
  const odds = Number((top << 60n) / bottom) / 2 ** 60;
  return String(Math.ceil(Math.log(odds) * 1e6 - 1e-6) / 1e6);
}
