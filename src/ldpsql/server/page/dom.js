/** Makes what the page shows. Texts become text nodes and nothing is parsed, so none of them can be markup. */

/**
 * A text with a space for all that nobody sees: strangers' texts may turn the direction in which those around them are
 * read. Lines stay lines.
 */
export const plain = (text) => text.replace(/[\p{C}\u2028\u2029]/gu, (character) => (character === "\n" || character === "\t" ? character : " "));

/** The element of an id. */
export const byId = (id) => document.getElementById(id);

export const significant = (number, digits = 3) => number.toLocaleString("en", { maximumSignificantDigits: digits });

/**
 * An element.
 *
 * attributes: by name; those that start with "on" are listeners, true is an attribute without value, and
 * false, null and undefined leave it out.  children: nodes, texts, or lists of them; null, undefined and false are
 * left out.
 */
export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, ...children);
}

/** Give attributes and children to an element that is there. */
export function fill(node, attributes = {}, ...children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  const kept = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  node.append(...kept.map((child) => (child instanceof Node ? child : plain(String(child)))));
  return node;
}

/** A table: heads and rows of texts or nodes; right: which columns are aligned at the right. */
export function table(caption, heads, rows, right = []) {
  const cells = (name, values, more = {}) => values.map((value, i) => element(name, { class: right[i] ? "right" : null, ...more }, value));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element("table", {},
      element("caption", { class: "unseen" }, caption),
      element("thead", {}, element("tr", {}, cells("th", heads, { scope: "col" }))),
      element("tbody", {}, rows.map((row) => element("tr", {}, cells("td", row))))));
}
