/** What a survey asks and promises, how well it answers, and what came in. */

import { odds } from "./client/odds.js";
import { decimalText } from "./client/rational.js";
import { today } from "./client/survey.js";
import { element, significant, table } from "./dom.js";
import { expectErrors, logarithm, plainly, reportsFor } from "./expectations.js";
import { chooseSurvey, describeSurvey, verify } from "./published.js";
import { hasToken, Problem } from "./requests.js";

const whole = (number) => number.toLocaleString("en");
const LABEL = 90, NARROW = 300, WIDE = 720;

/** A number from 1 on, of six digits, rounded up. */
function roundUp(number) {
  const unit = 10 ** (5 - Math.floor(Math.log10(number)));
  return Math.ceil(number * unit) / unit;
}

// -- the audit ------------------------------------------------------------------------------------

/** Whose survey it is, and whether they say that it is asked now. */
async function tellAuthor({ author, signature, signedText, statement, table: name, fingerprint }) {
  if (!author) return "Nobody has signed it, so nothing tells whose survey it is.";
  if (!verify) return `It names the owner of the key ${author}; this browser cannot check signatures.`;
  if (!await verify(author, signature, signedText)) return `Its signature is not that of the owner of the key ${author}, which it names.`;
  const signed = `Its signature is that of the owner of the key ${author}.`;
  if (!statement?.signature) return `${signed} The owner has not said that it is the one asked now, so apps that name authors refuse it.`;
  const isOwn = statement.author === author && statement.table === name && statement.fingerprint === fingerprint && await verify(author, statement.signature, statement.signedText);
  if (!isOwn) return `${signed} The statement that came with it is not the owner's, or is about another survey, so apps that name authors refuse it.`;
  const day = today(), isBelieved = statement.issued <= day && day <= statement.until;
  return `${signed} The owner has also signed that it is the one asked from ${statement.issued} to ${statement.until}${isBelieved ? "." : `; today is ${day}, so apps that name authors refuse it.`}`;
}

/** What this browser has checked of the survey, whoever made it. */
async function audit(survey) {
  const { plan, promise: { kind, epsilon, delta }, schema, fingerprint, words } = survey, found = [];
  found.push(`The survey is byte for byte the one of the fingerprint ${fingerprint}.`);
  found.push(await tellAuthor(survey));
  if (!epsilon) {
    found.push("It promises nothing: a report can tell for certain what its sender's answers are.");
  } else if (delta[0]) {
    found.push(`Over all sets of reports, the exact delta at epsilon ${decimalText(epsilon)} is at most the promised one, ${decimalText(delta, 12)}.`);
  } else {
    const most = odds(plan, kind, schema.dimensions.map(({ sensitive }) => sensitive)), times = Number((most[0] * 10n ** 6n + most[1] - 1n) / most[1]) / 1e6;
    const whose = kind === "local" ? "No report is more than" : "Of the reports that protect sensitive values none is more than", more = kind === "local" ? "" : " Other reports may give their sender's value away.";
    found.push(`${whose} ${roundUp(times)} times as likely from one person as from another: epsilon ${logarithm(most)}, and ${decimalText(epsilon)} is promised.${more} This is computed from the whole numbers that a device compares its random bits with, for every question.`);
  }
  found.push(`${plan.questions === 1 ? "Every device is asked the same question." : `There are ${whole(plan.questions)} questions. A device draws one before it looks at the answers, so which one it was tells nothing of them.`} Every report takes ${words} random words of 64 bits and has the same length.`);
  return found;
}

/** What the full audit checks besides, and how to run it. */
function tellAudit({ table: name }) {
  const checks = [
    "the promise once more, in exact fractions, by other code than this page's, for every question and every pair of people;",
    "a device's own code, run on made-up records of every kind, also with values that are missing, outside or of a wrong type: the exact law of its answers is found from outside and compared with the survey's numbers;",
    "reports that are drawn by the system's randomness, and counted;",
    "where reports are shuffled, what a batch keeps besides.",
  ];
  return [
    element("p", {}, "This browser checks numbers, not what runs on a device. The full audit needs both files that ", element("code", {}, "ldpsql design"), " wrote. This collector hands out only the first, so ask the author for the other one. ", element("code", {}, "--html"), " writes a page to read, print and sign:"),
    element("pre", { tabindex: "0" }, `pip install ldpsql\nldpsql audit ${name}.survey.json --html ${name}.audit.html`),
    element("p", {}, "It checks"),
    element("ul", {}, checks.map((line) => element("li", {}, line))),
  ];
}

// -- expected errors ------------------------------------------------------------------------------

/** How far answers will be from the truth: with so many reports, and how many a wanted precision takes. */
function tellErrors({ people, level, kinds }, given) {
  const reports = element("input", { id: "reports", type: "number", min: "1", step: "1", value: given || people });
  const wanted = element("input", { id: "wanted", type: "number", min: "0", step: "any", value: "1" });
  const shown = element("div", {});
  const update = () => {
    const count = Math.floor(Number(reports.value)), share = Number(wanted.value) / 100;
    if (!(count >= 1) || !(share > 0)) {
      shown.replaceChildren(element("p", { class: "error", role: "alert" }, "Give a number of reports, at least 1, and a precision above 0 %."));
      return;
    }
    shown.replaceChildren(table("Expected errors",
      ["question", "±", "± in %", `reports for ± ${wanted.value} %`, "still missing", "in % of"],
      expectErrors(kinds, people, count).map(({ text, limit, halfWidth, share: own }) => {
        const needed = reportsFor(own, count, share);
        return [plainly(text), significant(halfWidth), `${significant(100 * own, 2)} %`, whole(needed), needed > count ? whole(needed - count) : "none", limit];
      }), [false, true, true, true, true, false]));
  };
  update();
  return [
    element("p", {}, `± is half the width of ${100 * level} % intervals, computed from the design for answers spread evenly: in people or in units of the measure, and as a percentage of what the last column names, which shrinks with the square root of the number of reports.`),
    element("div", { class: "fields", oninput: update },
      element("p", { class: "field" }, element("label", { for: "reports" }, "Reports"), reports),
      element("p", { class: "field" }, element("label", { for: "wanted" }, "Wanted precision, ± %"), wanted)),
    shown,
  ];
}

async function showErrors(root, survey, request, given) {
  try {
    root.replaceChildren(...tellErrors(await (await request(`v1/surveys/${survey.fingerprint}/forecast`)).json(), given).flat());
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    root.replaceChildren(element("p", {}, `Errors cannot be predicted: ${error.message}.`));
  }
}

// -- reports --------------------------------------------------------------------------------------

/** Bars of reports by day, of which a table beside them says the same. */
async function drawDays(days) {
  const { barY, plot, ruleY } = await import("./vendor/plot.js");
  const data = days.map(({ day, reports }) => ({ day: day ?? "files", reports }));
  const width = Math.min(WIDE, Math.max(NARROW, document.documentElement.clientWidth - 48)), step = Math.ceil((data.length * LABEL) / width);
  const ticks = data.map(({ day }) => day).filter((_, i) => i % step === 0);
  const picture = plot({
    width, height: 220, marginLeft: 60,
    x: { type: "band", label: null, ticks, padding: 0.2, domain: data.map(({ day }) => day) }, y: { label: "reports", grid: true, tickFormat: (count) => count.toLocaleString("en") },
    marks: [barY(data, { x: "day", y: "reports", fill: "var(--series-1)" }), ruleY([0])],
  });
  // The page's sheet says what this would; the content policy takes no other.
  picture.querySelector("style")?.remove();
  picture.setAttribute("aria-hidden", "true");
  picture.setAttribute("class", "days");
  return picture;
}

/** How many reports there are, when they came, and signs that some are forged. */
async function tellReports({ reports, days, spread: { groups, chi_square: statistic, degrees, score, suspicious }, signs }) {
  const rows = days.map(({ day, reports: count }) => [day ?? "from files", whole(count)]);
  const tested = degrees
    ? `Chi-square of the ${whole(groups)} questions' counts: ${significant(statistic, 4)} over ${whole(degrees)} degrees of freedom, ${Math.abs(score).toFixed(1)} standard deviations ${score < 0 ? "below" : "above"} what chance gives on average; by chance, ${suspicious} or more above it come about once in a billion times.`
    : "There are too few reports, or questions, to tell.";
  return [
    element("p", {}, element("strong", {}, `${whole(reports)} report${reports === 1 ? "" : "s"}.`), " The collector keeps no time of arrival but the day, in UTC, and none for reports from files."),
    reports > 0 && await drawDays(days),
    reports > 0 && table("Reports by day", ["day", "reports"], rows, [false, true]),
    element("h3", {}, "Signs of forged reports"),
    element("p", {}, "A device draws its question by the survey's own odds; a crowd of forged reports often has others. ", tested),
    signs.length > 0 ? signs.map((sign) => element("p", { class: "error" }, `${sign}.`)) : degrees > 0 && element("p", { class: "allowed" }, "No sign. Whoever forges with care leaves none: this is no proof that all are honest."),
  ].flat().filter(Boolean);
}

// -- the view -------------------------------------------------------------------------------------

/** Show the survey that the address names. */
export async function show(root, context) {
  root.classList.add("prose");
  const heading = element("h1", {}, "Survey");
  root.append(heading);
  const survey = await chooseSurvey(root, context, "survey");
  if (!survey) return;
  heading.replaceChildren(survey.label ?? survey.table);
  const errors = element("section", { "aria-labelledby": "errors-title" }, element("p", {}, "Computing ...")), came = element("section", { "aria-labelledby": "came-title" });
  root.append(
    element("h2", {}, "What is asked and promised"), await describeSurvey(survey),
    element("p", {}, element("a", { href: `#take-part?${new URLSearchParams({ table: survey.table })}` }, "Take part in a demonstration")),
    element("h2", {}, "Checked by this browser"),
    element("p", {}, "Nobody's word is taken for this: neither the collector's nor the author's."),
    element("ul", {}, (await audit(survey)).map((line) => element("li", {}, line))),
    ...tellAudit(survey),
    element("h2", { id: "errors-title" }, "How well it answers"), errors,
    element("h2", { id: "came-title" }, "Reports"), came);
  let given;
  const showReports = async () => {
    try {
      const said = await (await context.request(`v1/surveys/${survey.fingerprint}/arrivals`)).json();
      given = said.reports;
      came.replaceChildren(...await tellReports(said));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      came.replaceChildren(element("p", { role: "alert", class: "error" }, `${error.message}.`), offer());
    }
  };
  const offer = () => element("p", { class: "buttons" }, element("button", { type: "button", onclick: async () => {
    await showReports();
    if (given) await showErrors(errors, survey, context.request, given);
  } }, "Show what came in"), " (for analysts, with a token)");
  if (hasToken()) await showReports();
  else came.append(offer());
  // Not awaited: what is known is shown meanwhile.
  showErrors(errors, survey, context.request, given);
}
