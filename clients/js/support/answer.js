/**
 * Answers surveys that a test of another language hands in: a JSON object per line of standard input,
 * {survey, records, words}, {survey, records, draws} or {survey}, and the reports, or the survey's
 * description, as a JSON array per line; {texts}, and for each what is wrong with it as a survey, or "".
 *
 * pledge: the text of one, with which the survey is described, or sealed reports are given.  words: of all records, 64 bits each, in base64, little-endian.  draws: reports per record, by the
 * system's randomness.
 */

import { createInterface } from "node:readline";

import { Policy, Survey, describe, respond } from "../src/index.js";
import { Pledge } from "../src/shuffler.js";
import { verify } from "./vectors.js";

const report = (line) => JSON.parse(line).report ?? line;

/** What is wrong with the text of a survey; "" for none. */
function problemOf(text) {
  try {
    new Survey(text);
    return "";
  } catch (error) {
    if (error.kind !== "survey") throw error;
    return error.message;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { survey: data, records, words, draws, texts, pledge: said } = JSON.parse(line);
  if (texts) {
    process.stdout.write(`${JSON.stringify(texts.map(problemOf))}\n`);
    continue;
  }
  const survey = new Survey(JSON.stringify(data)), answers = [], pledge = said && new Pledge(said);
  if (words !== undefined) {
    const bytes = Buffer.from(words, "base64"), count = survey.words;
    records.forEach((record, i) => {
      const own = Array.from({ length: count }, (_, w) => bytes.readBigUInt64LE(8 * (i * count + w)));
      answers.push(survey.answer(record, own));
    });
  } else if (records === undefined) {
    answers.push(await describe(survey, pledge && { verify, pledge }));
  } else {
    const policy = new Policy({ maxEpsilon: 20, maxDelta: 1, disclosure: true, noGuarantee: true, shufflers: pledge && [pledge.shuffler], public: survey.recordColumns.map(({ name }) => name) });
    for (const record of records) {
      for (let i = 0; i < draws; i++) answers.push(report(await respond(survey, record, { policy, pledge, verify: pledge && verify })));
    }
  }
  process.stdout.write(`${JSON.stringify(answers)}\n`);
}
