import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { readdirSync } from "node:fs";
import { test } from "node:test";

import { seal } from "../src/hpke.js";
import { Ledger, MemoryStore, Policy, Survey, respond } from "../src/index.js";
import { canonical, parseJson } from "../src/json.js";
import { encode, readSchema } from "../src/schema.js";
import { hashText, toHex } from "../src/sha256.js";
import { Pledge } from "../src/shuffler.js";
import { vectors, verify } from "../support/vectors.js";

const recipes = readdirSync(new URL("../../../vectors/", import.meta.url)).filter((name) => name.startsWith("recipe_"));

for (const name of recipes) {
  test(name, () => {
    for (const { survey: data, fingerprint, report_widths: widths, cases } of vectors(name.slice(0, -5)).surveys) {
      const survey = new Survey(JSON.stringify(data));
      assert.equal(survey.fingerprint, fingerprint);
      assert.deepEqual(survey.plan.widths, widths);
      for (const { record, words, report, public: open } of cases) {
        assert.equal(survey.words, words.length);
        assert.equal(survey.answer(record, words.map(BigInt)), report);
        const bytes = new DataView(new ArrayBuffer(8 * words.length + 16));
        words.forEach((word, i) => bytes.setBigUint64(8 * i, BigInt(word)));
        const line = survey.draw(record, "2026-05-01", (given) => given.set(new Uint8Array(bytes.buffer)));
        assert.deepEqual(JSON.parse(line), { id: "0".repeat(32), report, public: open });
        survey.checkReport(line);
      }
    }
  });
}

test("every recipe has vectors", () => assert.ok(recipes.length >= 32));

test("values have their codes", () => {
  for (const { dimension, cases } of vectors("encoding").dimensions) {
    const { dimensions: [read] } = readSchema({ dimension: [dimension], measure: [], public: [] }, "schema");
    for (const { value, code } of cases) assert.equal(read.find(value, 1)[0], code, `${JSON.stringify(dimension)} ${value}`);
  }
});

test("values have their thresholds, and words their levels", () => {
  for (const { measure, cases } of vectors("encoding").measures) {
    const { measures: [read] } = readSchema({ dimension: [], measure: [measure], public: [] }, "schema");
    for (const { value, threshold, levels } of cases) {
      const [place, standing] = read.threshold(value);
      assert.equal(String(place), threshold, `${measure.bounds} ${value}`);
      for (const [word, level] of levels) assert.equal(read.code(place, standing, BigInt(word)), level, `${measure.bounds} ${value} ${word}`);
    }
  }
});

test("words give drawn codes", () => {
  for (const { sizes, words, codes } of vectors("encoding").draws) {
    const dimension = sizes.map((size, i) => ({ name: `x${i}`, type: "int", domain: [1, size] }));
    const schema = readSchema({ dimension, measure: [], public: [] }, "schema");
    assert.equal(schema.words, words.length);
    assert.deepEqual(encode(schema, {}, words.map(BigInt)), codes);
  }
});

test("canonical JSON has its hash", () => {
  for (const { json, canonical: text, sha256 } of vectors("canonical")) {
    assert.equal(canonical(parseJson(json)), text);
    assert.equal(hashText(text), sha256);
  }
});

test("surveys have days and authors", () => {
  for (const { survey: data, fingerprint, chain, signed_sha256: signed, days } of vectors("surveys")) {
    const survey = new Survey(JSON.stringify(data));
    assert.deepEqual([survey.fingerprint, survey.chain], [fingerprint, chain]);
    if (signed !== null) {
      assert.equal(hashText(survey.signedText), signed);
      assert.ok(verify(survey.author, survey.signature, survey.signedText));
    }
    for (const { day, open, period, turn, last_sending_day: last } of days) {
      assert.equal(survey.isOpen(day), open);
      if (open) assert.deepEqual([survey.periodOf(day) ?? null, survey.lastSendingDay(day)], [period, last]);
      if (turn !== undefined) assert.equal(survey.turnOf(day), turn);
    }
  }
});

for (const { reason, text } of vectors("bad_surveys")) {
  test(`a bad survey: ${reason}`, () => {
    assert.throws(() => {
      const survey = new Survey(text);
      // What can be checked by a verifier alone.
      if (survey.author && !verify(survey.author, survey.signature, survey.signedText)) throw Object.assign(new Error(), { kind: "survey" });
    }, ({ kind }) => kind === "survey");
  });
}

/** What a device does with a collector's answer. */
const believe = (text, data, day, ledger) => {
  const survey = new Survey(JSON.stringify(data), parseJson(text));
  return respond(survey, {}, { policy: new Policy({ maxEpsilon: 20, public: survey.recordColumns.map((column) => column.name), authors: [survey.author] }), ledger, day, verify });
};
const said = vectors("statements");

test("a statement is believed, where signatures can be checked", async () => {
  const survey = new Survey(JSON.stringify(said.survey), JSON.parse(said.good));
  assert.equal(hashText(survey.statement.signedText), said.signed_sha256);
  survey.checkReport(await believe(said.good, said.survey, said.day));
});

for (const { reason, text } of said.bad) {
  test(`a bad statement: ${reason}`, async () => {
    await assert.rejects(async () => believe(text, said.survey, said.day), ({ kind }) => kind === "survey" || kind === "not allowed");
  });
}

test("no statement is believed after a later one", async () => {
  const ledger = new Ledger(new MemoryStore(), { total: 20, perAttribute: 20 });
  for (const { what, survey, day, text, believed } of said.answers) {
    const isBelieved = await believe(text, said.surveys[survey], day, ledger).then(() => true, ({ kind }) => { assert.ok(kind === "budget spent" || kind === "not allowed"); return false; });
    assert.equal(isBelieved, believed, what);
  }
});

test("bad reports are refused", () => {
  const { survey: data, good, bad } = vectors("bad_reports");
  const survey = new Survey(JSON.stringify(data));
  survey.checkReport(good);
  for (const { line, reason } of bad) assert.throws(() => survey.checkReport(line), ({ kind }) => kind === "report", reason);
});

const pledges = vectors("pledges");

/** What a device does with what a shuffler says, or without it. */
async function give(text, data, today, shufflers, ledger) {
  const pledge = text === null ? undefined : new Pledge(text);
  return respond(new Survey(JSON.stringify(data)), {}, { policy: new Policy({ maxEpsilon: 20, shufflers }), day: today, verify, ledger, pledge });
}

test("a pledge is believed, and a report is sealed as it says", async () => {
  const { survey: data, day, good, shufflers, signed_sha256: covered, sealed } = pledges, survey = new Survey(JSON.stringify(data)), pledge = new Pledge(good);
  assert.match(await give(good, data, day, shufflers), /^\{"sealed":"[0-9a-f]+"\}$/);
  assert.equal(hashText(pledge.signedText), covered);
  survey.checkReport(sealed.report);
  const d = Buffer.from(sealed.own, "hex"), pkcs8 = Buffer.concat([Buffer.from("302e020100300506032b656e04220420", "hex"), d]);
  const x = createPublicKey(createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" })).export({ format: "jwk" }).x;
  const own = {
    privateKey: await crypto.subtle.importKey("pkcs8", pkcs8, { name: "X25519" }, false, ["deriveBits"]),
    publicKey: await crypto.subtle.importKey("raw", Buffer.from(x, "base64url"), { name: "X25519" }, true, []),
  };
  const message = await seal(sealed.report, pledge.encryption, "ldpsql sealed report 1", survey.fingerprint, own);
  assert.equal(`{"sealed":"${toHex(message)}"}`, sealed.line);
});

for (const { reason, text } of pledges.bad) {
  test(`a bad pledge: ${reason}`, async () => {
    await assert.rejects(() => give(text, pledges.survey, pledges.day, pledges.shufflers), ({ kind }) => kind === "survey" || kind === "not allowed");
  });
}

test("a report is given again to its first recipient alone", async () => {
  const ledger = new Ledger(new MemoryStore(), { total: 20, perAttribute: 20 });
  for (const { what, survey, day, pledge, given } of pledges.answers) {
    const isGiven = await give(pledge, pledges.surveys[survey], day, pledges.named, ledger).then((line) => {
      assert.equal(line.startsWith('{"sealed"'), pledge !== null);
      return true;
    }, ({ kind }) => { assert.ok(kind === "budget spent" || kind === "not allowed"); return false; });
    assert.equal(isGiven, given, what);
  }
});
