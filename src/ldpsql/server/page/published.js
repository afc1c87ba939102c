/** The surveys of this collector, as devices fetch and check them. */

import { Collector, describe, LdpsqlError } from "./client/index.js";
import { element } from "./dom.js";

/** Where the collector is: beside the page. */
export const ADDRESS = new URL(".", document.baseURI).href;

const bytesOf = (digits) => Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16));

/** Whether an Ed25519 signature is valid, by the browser; nothing where it has no such check. */
export const verify = globalThis.crypto?.subtle && (async (author, signature, text) => {
  const key = await crypto.subtle.importKey("raw", bytesOf(author), "Ed25519", false, ["verify"]);
  return crypto.subtle.verify("Ed25519", key, bytesOf(signature), new TextEncoder().encode(text));
});

/**
 * The survey that the address names, or the first one, checked as a device checks it, and a field to
 * choose another; nothing, and the reason shown, where there is none or it is refused.
 */
export async function chooseSurvey(root, { parameters, request }, view) {
  const { surveys } = await (await request("v1/surveys")).json(), named = parameters.get("table");
  const own = surveys.find(({ table }) => table === named) ?? surveys[0];
  if (!own) {
    root.append(element("p", {}, "This collector has no survey yet."));
    return undefined;
  }
  if (surveys.length > 1) {
    const field = element("select", { id: "table", onchange: () => { location.hash = `#${view}?${new URLSearchParams({ table: field.value })}`; } },
      surveys.map(({ table }) => element("option", { selected: table === own.table }, table)));
    root.append(element("p", {}, element("label", { for: "table" }, "Survey"), field));
  }
  try {
    return await new Collector(ADDRESS).survey(own.table);
  } catch (error) {
    if (!(error instanceof LdpsqlError)) throw error;
    root.append(element("p", { role: "alert", class: "error" }, `A device refuses the survey ${own.table}: ${error.message}.`));
    return undefined;
  }
}

/** What a person reads before taking part, as a list of what and its words. */
export async function describeSurvey(survey) {
  let lines;
  try {
    lines = (await describe(survey, { verify })).split("\n");
  } catch (error) {
    if (!(error instanceof LdpsqlError)) throw error;
    return element("p", { role: "alert", class: "error" }, `${error.message}.`);
  }
  return element("dl", { class: "facts" }, lines.slice(1).map((line) => {
    const [, what, words] = line.match(/^([^:]*): (.*)$/s);
    return [element("dt", {}, what), element("dd", {}, words)];
  }));
}
