/** Questions in SQL, written or clicked together, and their answers as a table and a picture. */

import { writeTimelines } from "./builder.js";
import { makeForm } from "./builder-form.js";
import { describePicture, readPicture } from "./chart.js";
import { element, fill, significant, table } from "./dom.js";
import { save, writePng, writeSvg } from "./downloads.js";
import { makeEditor } from "./editor.js";
import { addToHistory, clearHistory, readHistory } from "./history.js";
import { draw, readColours } from "./picture.js";
import { readLookup, readSurvey } from "./surveys.js";

const MOST_ROWS = 1000;
const FILES = { CSV: ["text/csv", "csv"], Parquet: ["application/vnd.apache.parquet", "parquet"] };
const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** The SQL field, the fields to click, and the answer to what the address asks. */
export async function show(root, { parameters, request, remember, announce }) {
  const listed = await (await request("v1/tables")).json();
  const surveys = listed.surveys.map(readSurvey), tables = [...surveys, ...listed.lookups.map(readLookup)];
  const asked = parameters.get("sql");
  const answer = element("section", { "aria-label": "Answer", class: "answer" });
  const past = element("ol", { class: "past" });
  let place = -1, running;

  const recall = (step) => {
    const all = readHistory();
    place = Math.max(0, Math.min(place - step, all.length - 1));
    return all[place];
  };
  const editor = makeEditor(asked ?? "", { tables, ask: () => ask(), recall });
  const form = surveys.length > 0 && makeForm(surveys, { write: editor.write, ask: () => ask() });
  if (form && asked === null) form.change();

  const offer = (sql, label = sql) => element("li", {}, element("button", { type: "button", class: "question", onclick: () => { editor.write(sql); editor.focus(); } }, label));
  const timelines = surveys.flatMap((survey) => writeTimelines(survey).map(({ label, sql }) => offer(sql, surveys.length > 1 ? `${survey.table}: ${label}` : label)));

  function showPast(all = readHistory()) {
    past.replaceChildren(...all.map((sql) => offer(sql)));
    if (!all.length) past.append(element("li", {}, "No questions yet."));
  }

  async function ask() {
    const sql = editor.read().trim();
    if (!sql) return;
    running?.abort();
    const turn = running = new AbortController();
    const address = new URLSearchParams({ sql });
    if (confidence.value !== "0.95") address.set("confidence", confidence.value);
    remember(address);
    place = -1;
    showPast(addToHistory(sql));
    answer.setAttribute("aria-busy", "true");
    stop.hidden = false;
    announce("Asking");
    const question = { sql, confidence: Number(confidence.value) };
    try {
      const said = await (await request("v1/query", { body: { ...question, texts: true }, signal: turn.signal })).json();
      answer.replaceChildren(...showAnswer(question, said, { request, announce }));
      announce(`${said.rows.length === 1 ? "1 row" : `${said.rows.length} rows`}${said.notes.length ? `, ${said.notes.length} notes` : ""}`);
    } catch (error) {
      if (error.name === "AbortError") {
        if (turn === running) announce("Stopped");
        return;
      }
      if (error.status === undefined) throw error;
      answer.replaceChildren(showProblem(error));
      if (error.place) editor.mark(error.place);
    } finally {
      if (turn === running) {
        answer.removeAttribute("aria-busy");
        stop.hidden = true;
        // On a small window the fields may fill all of it.
        if (answer.getBoundingClientRect().top > 0.8 * innerHeight) answer.scrollIntoView();
      }
    }
  }

  const stop = element("button", { type: "button", hidden: true, onclick: () => running.abort() }, "Stop");
  const levels = [...new Set(["0.9", "0.95", "0.99", parameters.get("confidence") ?? "0.95"])].filter((level) => Number(level) > 0 && Number(level) < 1).sort();
  const confidence = element("select", { id: "confidence" }, levels.map((level) => element("option", { value: level }, `${Number((100 * level).toPrecision(6))} %`)));
  confidence.value = levels.includes(parameters.get("confidence")) ? parameters.get("confidence") : "0.95";
  fill(root, { class: "view ask" },
    element("h1", {}, "Ask"),
    element("div", { class: "question-side" },
      form ? element("details", { class: "card", open: innerWidth > 900 }, element("summary", {}, "Build a question"), form.element)
        : element("p", {}, "There is no survey here yet: ", element("code", {}, "ldpsql serve --survey FILE"), " asks one."),
      timelines.length > 0 && element("details", { class: "card" }, element("summary", {}, "Over time"), element("ol", { class: "past" }, timelines)),
      tables.length > 0 && element("details", { class: "card" }, element("summary", {}, "Tables and columns"), tables.map(showColumns)),
      element("details", { class: "card", ontoggle: () => showPast() }, element("summary", {}, "Earlier questions"), past,
        element("p", {}, element("button", { type: "button", onclick: () => { clearHistory(); showPast(); announce("Forgotten"); } }, "Forget them")))),
    element("div", { class: "answer-side" },
      element("h2", { class: "unseen" }, "SQL"), editor.element,
      element("p", { class: "hint" }, `${isMac ? "⌘" : "Ctrl"}+Enter asks, Ctrl+Space completes, Alt+↑ brings back the previous question.`),
      element("div", { class: "buttons" },
        element("button", { type: "button", class: "primary", onclick: ask }, "Ask"), stop,
        element("label", { for: "confidence", class: "beside" }, "Confidence"), confidence,
        element("button", { type: "button", onclick: () => copyLink(announce) }, "Copy link")),
      answer));
  showPast();
  // Whoever writes a link must not have others ask, with their token, what they never saw.
  if (asked && readHistory().includes(asked.trim())) ask();
  else if (asked) answer.append(element("p", { role: "note", class: "notice" }, "This question came with a link, and was not asked in this browser before. Read it, then press Ask."));
}

/** Put the address, which reopens the question and holds nothing else, on the clipboard. */
async function copyLink(announce) {
  await navigator.clipboard.writeText(location.href).then(() => announce("Link copied"), () => announce("The browser did not let the page copy; the link is the page's address"));
}

function showColumns({ table: name, label, columns }) {
  return element("section", { "aria-label": `Columns of ${name}` }, element("h2", {}, element("code", {}, name), label && ` “${label}”`),
    element("dl", { class: "columns" }, columns.map((column) => [element("dt", {}, element("code", {}, column.name)), element("dd", {}, column.label && `“${column.label}”, `, column.detail)])));
}

/** A refusal as on a terminal, with the place in the SQL. */
function showProblem({ message, reason, hint, caret }) {
  return element("div", { role: "alert", class: "error" }, element("p", {}, reason ?? message), caret && element("pre", { "aria-hidden": "true" }, caret), hint && element("p", {}, hint));
}

function showAnswer(question, said, { request, announce }) {
  const { columns, texts, notes, weak, explain, reports, surveys } = said;
  if (explain !== null) return [element("pre", { class: "plan", tabindex: "0", "aria-label": "Plan" }, explain)];
  const hasBars = Object.values(said.intervals).some(({ stderr }) => stderr.some((error) => error > 0));
  const legend = hasBars ? [`± is half the width of the ${Number((100 * said.level).toPrecision(6))} % interval`] : [];
  const all = [...legend, ...notes, ...weak];
  const isNumber = columns.map(({ type }, i) => i in said.intervals || /^(u?int|half|float|double|decimal)/.test(type));
  const rows = texts.slice(0, MOST_ROWS).map((row) => row.map((text) => (text.endsWith("~") ? element("span", { class: "weak", title: "weak: its ± is above a third of what it is measured by" }, text) : text === "NULL" ? element("span", { class: "null" }, text) : text)));
  const [limited, unlimited] = [true, false].map((is) => Object.entries(said.forged).filter(([, { most }]) => (most !== null) === is));
  const forged = limited
    .map(([i, { least, most }]) => `${significant(Math.max(0, most))} to ${columns[i].name}, or take away ${significant(Math.max(0, -least))}`);
  const from = surveys.map(({ table: name, mechanism, guarantee }) => `${name}: ${guarantee}, ${mechanism}`).join("; ");
  const files = element("div", { class: "buttons", role: "group", "aria-label": "Download" }, "Download",
    Object.entries(FILES).map(([name, [type, suffix]]) => element("button", { type: "button", onclick: () => download(type, suffix) }, name)));
  const problem = element("div", {});

  async function download(type, suffix) {
    problem.replaceChildren();
    try {
      const response = await request("v1/query", { body: question, accept: type });
      const held = Number(response.headers.get("ldpsql-reports"));
      save(`answer.${suffix}`, await response.arrayBuffer(), type);
      announce(held === reports ? "Saved" : `Saved: the file is from ${held} reports, all there are now; the answer shown is from ${reports}`);
      if (held !== reports) problem.append(element("p", {}, `The file is from ${held.toLocaleString("en")} reports, all there are now; the answer shown is from ${reports.toLocaleString("en")}.`));
    } catch (error) {
      problem.append(showProblem(error));
    }
  }

  return [
    columns.length > 0 && showPicture(said, files),
    table("Answer as a table", columns.map(({ name }) => name), rows, isNumber),
    texts.length > MOST_ROWS && element("p", {}, `The first ${MOST_ROWS.toLocaleString("en")} of ${texts.length.toLocaleString("en")} rows; the files hold all.`),
    texts.length === 0 && element("p", {}, "No rows."),
    all.length > 0 && element("ul", { class: "notes", "aria-label": "Notes" }, all.map((note) => element("li", {}, note))),
    surveys.length > 0 && element("p", { class: "hint" }, `From ${reports.toLocaleString("en")} reports. ${from}.`),
    forged.length > 0 && element("p", { class: "hint" }, `One forged report can add up to ${forged.join("; ")}.`),
    unlimited.length > 0 && element("p", { class: "hint" }, `Nothing limits what one forged report can do to ${unlimited.map(([i]) => columns[i].name).join(", ")}.`),
    files, problem, showPlan(question, request),
  ].filter(Boolean);
}

/** How the question is answered, once somebody wants to know. */
function showPlan(question, request) {
  const plan = element("pre", { class: "plan", tabindex: "0", "aria-label": "Plan" }, "…");
  const open = async (event) => {
    if (!event.target.open || plan.textContent !== "…") return;
    try {
      plan.textContent = (await (await request("v1/explain", { body: question })).json()).explain;
    } catch (error) {
      plan.replaceWith(showProblem(error));
    }
  };
  return element("details", { class: "card", ontoggle: open }, element("summary", {}, "How it was answered (EXPLAIN)"), plan);
}

/** The answer as a picture, drawn anew for another width or other colours; its downloads go to the others. */
function showPicture(said, files) {
  const picture = readPicture(said);
  if (picture.reason) return element("p", { class: "hint" }, `No picture: ${picture.reason}.`);
  const frame = element("div", { class: "picture" });
  const kind = element("select", { id: "kind", onchange: () => redraw() }, picture.kinds.map((each) => element("option", {}, each)));
  const hasWeak = picture.panels.some(({ points }) => points.some(({ isWeak }) => isWeak));
  const figure = element("figure", {}, element("div", { class: "buttons" }, element("label", { for: "kind" }, "Picture"), kind, hasWeak && element("span", { class: "hint" }, "Paler, or ~: weak")), frame);
  let svg, seen;
  function redraw() {
    const width = Math.floor(frame.clientWidth);
    if (width < 100) return;
    const colours = readColours();
    svg = draw(picture, kind.value, { width: Math.min(width, 900), colours, label: describePicture(picture, kind.value) });
    frame.replaceChildren(svg);
    seen = width;
  }
  new ResizeObserver(() => Math.floor(frame.clientWidth) !== seen && redraw()).observe(frame);
  const scheme = matchMedia("(prefers-color-scheme: dark)"), change = () => (figure.isConnected ? redraw() : scheme.removeEventListener("change", change));
  scheme.addEventListener("change", change);
  files.append(
    element("button", { type: "button", onclick: () => save("answer.svg", writeSvg(svg, readColours().ground), "image/svg+xml") }, "SVG"),
    element("button", { type: "button", onclick: async () => save("answer.png", await writePng(svg, readColours().ground), "image/png") }, "PNG"));
  return figure;
}
