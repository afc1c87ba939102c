/** Questions in SQL, and their answers. */

import { element, table } from "./dom.js";

/** Ask what the address says. */
export async function show(root, { parameters, request, remember, announce }) {
  const field = element("textarea", { id: "sql", rows: "4", spellcheck: "false" }, parameters.get("sql") ?? "");
  const answer = element("section", { "aria-label": "Answer" });
  const ask = async () => {
    remember(new URLSearchParams({ sql: field.value }));
    try {
      const said = await (await request("v1/query", { body: { sql: field.value } })).json();
      const rows = said.rows.map((row) => row.map((value) => String(value ?? "NULL")));
      answer.replaceChildren(table("Answer", said.columns.map(({ name }) => name), rows));
      announce(`${rows.length} rows`);
    } catch (error) {
      answer.replaceChildren(element("p", { role: "alert", class: "error" }, error.message));
    }
  };
  root.append(
    element("h1", {}, "Ask"), element("label", { for: "sql" }, "SQL"), field,
    element("p", { class: "buttons" }, element("button", { class: "primary", onclick: ask }, "Ask")), answer);
  if (field.value) await ask();
}
