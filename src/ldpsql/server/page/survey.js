/** What is asked, and what is promised. */

import { describe, Survey } from "./client/index.js";
import { element } from "./dom.js";

/** Describe every survey of the collector in plain words. */
export async function show(root, { request }) {
  const { surveys } = await (await request("v1/tables")).json();
  root.append(element("h1", {}, "Survey"));
  for (const { table, fingerprint } of surveys) {
    const survey = new Survey(await (await request(`v1/surveys/${fingerprint}`)).text());
    const lines = (await describe(survey)).split("\n");
    root.append(element("h2", {}, table), ...lines.map((line) => element("p", {}, line)));
  }
  if (!surveys.length) root.append(element("p", {}, "There is no survey yet."));
}
