/** Questions by clicking: fields whose choice is written as SQL. */

import { MEASURES, writeQuestion } from "./builder.js";
import { element, fill } from "./dom.js";

const MOST_CHOICES = 300;
let made = 0;

/** A field with its label. */
function labelled(text, field) {
  field.id = `field-${++made}`;
  return element("div", { class: "field" }, element("label", { for: field.id }, text), field);
}

const option = (value, text) => element("option", { value }, text);
const nameOf = ({ name, label }) => (label ? `${name} (${label})` : name);

/**
 * The form.
 *
 * surveys: as `readSurvey` gives them.  write(sql): called with the question after every change.  ask(): for the
 * button that asks it.
 */
export function makeForm(surveys, { write, ask }) {
  let survey = surveys[0];
  const form = element("form", { class: "builder", onsubmit: (event) => { event.preventDefault(); change(); if (!problem.textContent) ask(); } });
  const problem = element("p", { role: "status", class: "problem" });
  const conditions = element("div", {}), keys = element("div", {}), of = element("div", {});
  const what = element("select", { onchange: () => { showOf(); change(); } }, Object.entries(MEASURES).map(([name, { label }]) => option(name, label)));
  let measured, rows = [], groups = [];

  function change() {
    try {
      const sql = writeQuestion({
        table: survey.table, measure: what.value, column: measured?.(),
        conditions: rows.map((row) => row.read()), keys: groups.map((group) => group()).filter(Boolean),
      });
      problem.replaceChildren();
      write(sql);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      problem.replaceChildren(error.message);
    }
  }

  /** The field that says of which column an average, sum or median is. */
  function showOf() {
    const fit = survey.columns.filter(MEASURES[what.value].takes ?? (() => false));
    measured = undefined;
    of.replaceChildren();
    if (!fit.length) return;
    const field = element("select", { onchange: change }, fit.map((column, i) => option(i, nameOf(column))));
    measured = () => fit[field.value];
    of.append(labelled("of", field));
  }

  /** The columns that conditions and groups can be about: measures alone have neither. */
  const fitting = () => survey.columns.filter(({ kind, low }) => kind !== "number" || low !== undefined);

  function addCondition() {
    const fit = fitting();
    const inputs = element("div", { class: "inputs" });
    const row = { read: undefined };
    const choose = element("select", { onchange: () => { show(); change(); } }, fit.map((column, i) => option(i, nameOf(column))));
    const group = element("fieldset", { class: "condition" }, element("legend", {}, "Only people with"), labelled("column", choose), inputs,
      element("button", { type: "button", onclick: () => { rows = rows.filter((each) => each !== row); group.remove(); change(); add.focus(); } }, "Remove this condition"));
    function show() {
      const column = fit[choose.value];
      inputs.replaceChildren();
      if (column.kind === "choice" && column.values.length <= MOST_CHOICES) {
        const boxes = column.values.map((value) => {
          const box = element("input", { type: "checkbox", onchange: change });
          return { value, box, shown: element("label", { class: "choice" }, box, String(value)) };
        });
        inputs.append(element("div", { class: "choices", role: "group", "aria-label": `values of ${column.name}` }, boxes.map(({ shown }) => shown)));
        row.read = () => ({ column, values: boxes.filter(({ box }) => box.checked).map(({ value }) => value) });
      } else if (column.kind === "clear" || column.kind === "choice") {
        const field = element("input", { oninput: change });
        inputs.append(labelled("is", field));
        row.read = () => (column.kind === "clear" ? { column, text: field.value } : { column, values: field.value ? [field.value] : [] });
      } else {
        const [from, to] = [column.low, column.high].map((end) => element("input", { placeholder: end, inputmode: column.kind === "number" ? "decimal" : null, oninput: change }));
        inputs.append(labelled("from", from), labelled("to", to));
        row.read = () => ({ column, from: from.value, to: to.value });
      }
    }
    show();
    rows.push(row);
    conditions.append(group);
    choose.focus();
  }

  function addKey(label, chosen = "") {
    const fit = fitting();
    const steps = element("div", {}), field = element("select", { onchange: () => { show(); change(); } }, option("", "nothing"), fit.map((column, i) => option(i, nameOf(column))));
    let step;
    function show() {
      const column = fit[field.value];
      step = undefined;
      steps.replaceChildren();
      if (!column || column.hasBins && column.kind === "number" || !["number", "date"].includes(column.kind)) return;
      step = column.kind === "number" ? element("input", { inputmode: "decimal", size: "6", oninput: change }) : element("select", { onchange: change }, option("", "as it is"), ["week", "month", "quarter", "year"].map((unit) => option(unit, unit)));
      steps.append(labelled(column.kind === "number" ? "in steps of" : "by", step));
    }
    field.value = chosen === "" ? "" : fit.indexOf(chosen);
    show();
    groups.push(() => field.value !== "" && { column: fit[field.value], step: step?.value.trim() ?? "" });
    keys.append(element("div", { class: "pair" }, labelled(label, field), steps));
  }

  function reset() {
    rows = [];
    groups = [];
    conditions.replaceChildren();
    keys.replaceChildren();
    showOf();
    add.hidden = !fitting().length;
    addKey("for each", survey.columns.find(({ kind }) => kind === "choice") ?? "");
    addKey("and each");
  }

  const table = surveys.length > 1 && element("select", { onchange: (event) => { survey = surveys[event.target.value]; reset(); change(); } },
    surveys.map((each, i) => option(i, each.label ? `${each.table} (${each.label})` : each.table)));
  const add = element("button", { type: "button", onclick: addCondition }, "Add a condition");
  fill(form, { "aria-label": "Build a question" }, table && labelled("Survey", table), element("div", { class: "pair" }, labelled("What", what), of), conditions, element("p", {}, add), keys, problem, element("p", {}, element("button", { type: "submit" }, "Ask this")));
  reset();
  return {
    element: form,
    /** Write the question that the fields hold. */
    change,
  };
}
