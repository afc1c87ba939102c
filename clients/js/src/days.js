/** Days and moments, in milliseconds since 1970. */

import { is } from "./shapes.js";

export const DAY = 864e5;

/** Milliseconds since 1970 of a date or a timestamp without a time zone; undefined for others. */
export function momentOf(written, hasTime) {
  const [, day, time, hours, minutes, seconds = 0] = (typeof written === "string" && /^(?!0000)(\d{4}-\d\d-\d\d)(T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d{1,6})?))?)?$/.exec(written)) || [];
  const start = Date.parse(`${day}T00:00Z`);
  // Some engines take the 30th of February for a day in March.
  if (hasTime !== !!time || !(start === start) || isoDay(start) !== day) return undefined;
  return time ? start + (hours * 60 + +minutes) * 6e4 + Math.floor(seconds * 1e3) : start;
}

export const isoDay = (moment) => new Date(moment).toISOString().slice(0, 10);

/** A reader of days. */
export const day = is((data) => momentOf(data, false) !== undefined, "a day as 2026-01-31");
