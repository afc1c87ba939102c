/** One person's answer to one survey: policy, ledger, encoding, draw, report. */

import { LdpsqlError } from "./json.js";
import { expect, refuse, requireBelieved } from "./policy.js";
import { today } from "./survey.js";

const BLOCK = 65536;

/** Fill bytes with the system's randomness, or refuse. */
export function fillBySystem(bytes) {
  const { crypto } = globalThis;
  if (!crypto?.getRandomValues) throw new LdpsqlError("random", "no crypto.getRandomValues: give `random`, which fills a Uint8Array from the system's source; nothing was sent");
  for (let start = 0; start < bytes.length; start += BLOCK) crypto.getRandomValues(bytes.subarray(start, start + BLOCK));
}

/**
 * The line of a report, which may leave the device; the record stays.
 *
 * period: with a ledger, the first day of a period that has ended, which the record is about.
 *
 * pledge: of a shuffler that the policy names (`Pledge`); with one, that shuffler alone can read the line.
 *
 * Whatever the record holds is encoded: what is thrown depends on the survey, the day, the policy
 * and the ledger alone.
 */
export async function respond(survey, record, { policy, ledger, day = today(), period, random = fillBySystem, verify, pledge }) {
  expect(/^\d{4}-\d\d-\d\d$/.test(day), "day is a text as 2026-01-31");
  const statement = await policy.require(survey, day, verify, pledge);
  const values = typeof record === "object" && record !== null ? record : {};
  const draw = (drawn) => survey.draw(values, drawn, random);
  if (!ledger) {
    if (survey.sample) refuse("not allowed", survey, `asks a device in one of ${survey.sample} ${survey.period}s, which a ledger keeps (ledger)`);
    pledge?.requireDay(survey, day);
    if (statement) requireBelieved(statement, survey, day);
  }
  const line = ledger ? await ledger.answer(survey, day, policy.renewal, draw, random, statement, pledge, period) : draw(day);
  return pledge ? pledge.seal(line) : line;
}
