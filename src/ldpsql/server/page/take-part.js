/** A demonstration of a device: it answers the survey here, and shows what it reads, draws and sends. */

import { BrowserStore, Collector, Ledger, LdpsqlError, Policy, respond } from "./client/index.js";
import { today } from "./client/survey.js";
import { codesOf, extentText, readRecord, readReport } from "./demonstration.js";
import { element, table } from "./dom.js";
import { ADDRESS, chooseSurvey, describeSurvey, verify } from "./published.js";

const STORE = "ldpsql-demonstration", TOTAL = "8", PER_ATTRIBUTE = "4";
let collector;

// A report that was to be sent and was not acknowledged is handed to the browser as the page closes.
document.addEventListener("visibilitychange", () => document.hidden && collector?.beacon());

// -- fields ---------------------------------------------------------------------------------------

const NONE = "(no answer)", ELSE = "(something else)";

/** A field to choose one of some values, and how to read it. */
function choice(id, values) {
  const field = element("select", { id }, [NONE, ...values.map(String)].map((text) => element("option", { value: text }, text)));
  return [field, () => (field.selectedIndex ? values[field.selectedIndex - 1] : undefined)];
}

/** A field of a type of the browser's, and how to read it. */
function input(id, type, read) {
  const field = element("input", { id, type, autocomplete: "off", step: "any" });
  return [field, () => (field.value === "" ? undefined : read(field.value))];
}

/** By the type of a column: its field. Whatever is given is answered, so that nothing is checked here. */
const FIELDS = {
  bool: (id) => choice(id, [false, true]),
  category: (id, { domain: { values } }) => choice(id, [...values, ELSE]),
  date: (id) => input(id, "date", String),
  timestamp: (id) => input(id, "datetime-local", String),
  text: (id) => input(id, "text", String),
  int: (id) => input(id, "number", Number),
  float: (id) => input(id, "number", Number),
};

/** A labelled field for every column, and the record that they hold. */
function askRecord(survey) {
  const { schema: { dimensions, measures, labels }, recordColumns } = survey, readers = new Map();
  const open = new Set(recordColumns.map(({ name }) => name));
  const fields = [...dimensions, ...measures, ...recordColumns].filter(({ name }, i, all) => all.findIndex((column) => column.name === name) === i).map((column) => {
    const { name, type = "float" } = column, id = `column-${name}`, [field, read] = FIELDS[type](id, column);
    readers.set(name, read);
    return element("p", { class: "field" }, element("label", { for: id }, labels.get(name) ?? name, extentText(column), open.has(name) && element("strong", {}, " (sent in clear)")), field);
  });
  return [fields, () => Object.fromEntries([...readers].map(([name, read]) => [name, read()]))];
}

/** Fields of what this device allows, and the policy that they say; TypeError for numbers that are none. */
function askPolicy({ recordColumns, promise: { kind, delta } }) {
  const most = element("input", { id: "most", type: "number", min: "0", step: "any", value: "2" });
  const box = (text, id) => {
    const field = element("input", { id, type: "checkbox" });
    return [element("label", { class: "box" }, field, " ", text), field];
  };
  const open = recordColumns.map(({ name }, i) => [name, ...box(`${name} may be sent in clear`, `open-${i}`)]);
  const [partly, hasPartly] = box("values that the survey does not call sensitive may be given away", "partly");
  const [clear, hasClear] = box("answers may be sent in clear, with a small probability", "clear");
  const fields = [
    element("p", { class: "field" }, element("label", { for: "most" }, "Largest epsilon of one report"), most),
    open.map(([, label]) => element("p", {}, label)),
    kind.startsWith("uldp") && element("p", {}, partly),
    delta[0] > 0n && element("p", {}, clear),
  ];
  return [fields, () => new Policy({
    maxEpsilon: most.value,
    maxDelta: hasClear.checked ? 1 : 0,
    disclosure: hasPartly.checked,
    public: open.filter(([, , field]) => field.checked).map(([name]) => name),
  })];
}

// -- what happened --------------------------------------------------------------------------------

const percent = (share) => `${Number((100 * share).toPrecision(3))}\u00a0%`;
const listed = (numbers) => numbers.join(", ") || "none";

/** An answer in words: what it is about, the honest one, and the one that was drawn. */
function tellAnswer({ kind, honest, about, size, sent }) {
  const subject = about.length ? `It is about ${about.join(", ")}. ` : "", own = honest === undefined ? "" : `The honest answer is number ${honest}`;
  if (kind === "bits") return `${subject}${own && `${own} of ${size}, one bit. `}Every bit was kept or flipped at random; these were sent as ones: ${listed(sent)}.`;
  if (kind === "keep") return `${subject}${own && `${own} of ${size}. `}What was sent: ${listed(sent)}, in ascending order.`;
  const drawn = honest === undefined ? "" : sent[0] === honest ? ", which happens to be the honest one" : ", which is another one";
  return `${subject}There are ${size} possible answers, numbered from 0. ${own && `${own}. `}The device drew number ${sent[0]}${drawn}.`;
}

/** What the device read and drew for a new report. */
function tellDraw(survey, record, line, bytes) {
  const { question, questions, chance, answers } = readReport(survey, line, codesOf(survey, record, bytes));
  const given = (name) => (record[name] === undefined ? "nothing" : String(record[name]));
  const words = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [
    element("h3", {}, "What it read"),
    element("p", {}, "This stays in the browser. Whatever you give is answered, so that no refusal tells anything of it: what is missing or outside counts as the survey says."),
    table("What it read", ["column", "you gave", "counts as", "because it is"], readRecord(survey, record, bytes).map(({ name, counts, why }) => [name, given(name), counts, why])),
    element("h3", {}, "What it drew"),
    element("p", {}, `First a question, before it looked at your answers: number ${question} of ${questions}, numbered from 0, which is drawn with probability ${percent(chance)}.`),
    answers.map((answer) => element("p", {}, tellAnswer(answer))),
    element("details", {}, element("summary", {}, `The ${bytes.length} random bytes from this system`),
      element("p", {}, "Every device draws as many, whatever it is asked and whatever it answers. The last 16 are the report's id, so that it is counted once."),
      element("p", {}, element("code", { class: "long" }, words))),
  ];
}

/** A report, part by part. */
function tellReport(line) {
  const { id, report, public: open } = JSON.parse(line), texts = Object.entries(open).map(([name, value]) => `${name}: ${value ?? "nothing"}`);
  return table("The report", ["part", "what it is", "value"], [
    ["id", "drawn at random; a report that comes twice is counted once", element("code", { class: "long" }, id)],
    ["report", "the number of the question, and the answer", element("code", { class: "long" }, report)],
    ["public", "what travels in clear", texts.join("; ") || "nothing"],
  ]);
}

// -- the view -------------------------------------------------------------------------------------

/** Show a device that answers the survey. */
export async function show(root, context) {
  root.classList.add("prose");
  root.append(
    element("h1", {}, "Take part"),
    element("p", { role: "note", class: "notice" }, element("strong", {}, "This is a demonstration. "),
      "It runs in this page what an app runs on a person's own device. Give made-up answers: what you send is counted in the survey like any other report."));
  const survey = await chooseSurvey(root, context, "take-part");
  if (!survey) return;
  const [policyFields, readPolicy] = askPolicy(survey), [fields, readRecordFields] = askRecord(survey);
  const ledger = new Ledger(new BrowserStore(STORE), { total: TOTAL, perAttribute: PER_ATTRIBUTE, delta: 1 });
  const requests = [], lines = [];
  collector = new Collector(ADDRESS, {
    fetch: async (url, options) => {
      const own = { url, ...options };
      requests.push(own);
      const response = await fetch(url, options);
      own.answer = response.ok ? String(response.status) : `${response.status}: ${(await response.clone().json().catch(() => ({}))).detail ?? "no reason is given"}`;
      return response;
    },
  });
  const verdict = element("p", { id: "verdict", role: "status" });
  const happened = element("section", { "aria-label": "What happened" });
  const left = element("div", {});
  let drawn = [];

  /** Whether the policy lets the survey be answered; why not is said. */
  async function judge() {
    try {
      await readPolicy().require(survey, today(), verify);
      verdict.className = "allowed";
      verdict.replaceChildren("This device would answer: the survey takes no more than is allowed here.");
    } catch (error) {
      if (!(error instanceof LdpsqlError || error instanceof TypeError)) throw error;
      verdict.className = "error";
      verdict.replaceChildren(`This device would not answer: ${error.message}.`);
    }
  }

  /** Show a refusal, which says nothing of the record. */
  function refuse(place, error) {
    if (!(error instanceof LdpsqlError || error instanceof TypeError)) throw error;
    place.replaceChildren(element("p", { role: "alert", class: "error" }, `The device does not answer: ${error.message}.`));
  }

  async function answer() {
    const record = readRecordFields();
    let bytes;
    const random = (asked) => {
      crypto.getRandomValues(asked);
      if (asked.length === 8 * survey.words + 16) bytes = asked.slice();
    };
    try {
      lines.push(await respond(survey, record, { policy: readPolicy(), ledger, random, verify }));
    } catch (error) {
      refuse(happened, error);
      return;
    }
    const line = lines.at(-1), isSame = lines.every((each) => each === line);
    const repeated = lines.length > 1 ? `Asked ${lines.length} times since this page was opened: ${isSame ? "the same report each time, character for character, whatever the answers were." : "the reports differ."}` : "";
    if (bytes) drawn = tellDraw(survey, record, line, bytes).flat();
    happened.replaceChildren(
      element("h2", {}, bytes || !drawn.length ? "What happened" : "What happened when it first answered"),
      ...drawn,
      ...(bytes ? [] : [element("h3", {}, "Asked again"), element("p", { class: "notice" }, "Nothing was read and nothing was drawn: the ledger of this device holds its report to this survey, and gives it again. New noise would let the answers be averaged out.")]),
      element("h3", {}, "The report"), tellReport(line),
      ...(repeated ? [element("p", { class: isSame ? "allowed" : "error", id: "repeated" }, repeated)] : []),
      element("p", { class: "buttons" },
        element("button", { type: "button", onclick: answer }, "Ask again"),
        element("button", { type: "button", class: "primary", onclick: send }, "Send the report"),
        element("button", { type: "button", onclick: forget }, "Start over as another person")),
      left);
    context.announce(repeated || (bytes ? "The device has drawn a report." : "The ledger gave the report again."));
    if (document.activeElement === document.body) happened.querySelector("button").focus();
  }

  async function send() {
    const { settled, refused, waiting } = await collector.send(ledger), taken = settled - refused;
    const count = (number, what) => `${number} report${number === 1 ? "" : "s"} ${what}`;
    const told = [
      taken && `${count(taken, "sent, and taken by the collector")}.`,
      refused && `${count(refused, "refused by the collector for good; not to be sent again")}.`,
      waiting && `${count(waiting, "not taken by the collector yet; to be sent again")}.`,
    ].filter(Boolean);
    const said = told.join(" ") || "Nothing was sent: the collector has already dealt with the report.";
    left.replaceChildren(
      element("h3", {}, "What left this browser"), element("p", { id: "sent" }, said),
      requests.length > 0 && table("Requests", ["request", "body", "answer"], requests.map(({ method = "GET", url, body, answer: said = "none" }) => [element("code", { class: "long" }, `${method} ${new URL(url).pathname}`), element("code", { class: "long" }, body ?? ""), said])));
    context.announce(said);
  }

  /** Forget the ledger, which no real device does. */
  async function forget() {
    await new Promise((resolve, reject) => {
      const gone = indexedDB.deleteDatabase(STORE);
      gone.onsuccess = resolve;
      gone.onerror = gone.onblocked = reject;
    });
    lines.length = requests.length = drawn.length = 0;
    left.replaceChildren();
    happened.replaceChildren(element("p", { class: "notice" }, "The ledger is forgotten: a demonstration alone can do that. An app that did would let its people's answers be averaged out."));
    context.announce("The ledger is forgotten.");
    root.querySelector("form button").focus();
  }

  root.append(
    element("h2", {}, "What you are asked"), element("p", {}, `Survey ${survey.table}`, survey.label !== undefined && `: ${survey.label}`), await describeSurvey(survey),
    element("h2", {}, "What this device allows"),
    element("p", {}, "An app decides this for its people, whatever a survey asks. It is checked before the answers are looked at."),
    element("div", { class: "fields", oninput: judge }, policyFields), verdict,
    element("form", { autocomplete: "off", onsubmit: (event) => { event.preventDefault(); return answer(); } },
      element("h2", {}, "Your answers"),
      element("div", { class: "fields" }, fields),
      element("p", { class: "buttons" }, element("button", { type: "submit", class: "primary" }, "Answer"))),
    happened);
  await judge();
}
