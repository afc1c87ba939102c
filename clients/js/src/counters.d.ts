import type { Collector, Day, Ledger, PersonRecord, Policy, Store, Survey, Verify } from "./index.js";

/** Counts a program's events, in a store of their own. */
export class Counters {
  /** now: the milliseconds since 1970. */
  constructor(store: Store, options?: { now?: () => number });
  /** How many names had no place: a day has room for 64. */
  dropped: number;
  /** Count an event, or several. */
  add(name: string, count?: number): void;
  /** Say what is so now: a text, a number up to 2^53, a truth value; others are missing. */
  set(name: string, value: unknown): void;
  /** Time a function and count it; what it returns is returned. */
  time<Result>(name: string, work: () => Result): Result;
  observe(name: string, milliseconds: number): void;
  seen(name: string): void;
  /** Once this has resolved, all that was counted before is in the store. */
  flush(): Promise<void>;
}

export interface Answers {
  policy: Policy;
  /** Values of columns that are no events. */
  record?: PersonRecord;
  day?: Day;
  random?: (bytes: Uint8Array) => void;
  verify?: Verify;
}

/** The lines of the reports of all periods that have ended and are to be answered; the ledger keeps them for `send`. */
export function answerPeriods(survey: Survey, counters: Counters, answers: Answers & { ledger: Ledger }): Promise<string[]>;

/** Answer a table for all periods that have ended, and send the reports; undefined where nothing is due, which asks no network. */
export function report(counters: Counters, collector: Collector, table: string, answers: Answers & { ledger: Ledger }): Promise<{ settled: number; refused: number; waiting: number } | undefined>;

/** A report of the running period so far; nothing is closed, charged or sent. */
export function preview(survey: Survey, counters: Counters, answers: Answers): Promise<string>;

/** A report that was drawn, and what it cost. */
export interface Given {
  survey: string;
  author?: string;
  period?: Day;
  day: Day;
  epsilon: string;
  delta: string;
  /** The line that leaves, byte for byte. */
  report: string;
  isSent: boolean;
  /** The survey in plain words, where it is known. */
  words?: string;
}

/** Every report that was drawn. store: of the ledger. */
export function history(store: Store, known?: { counters?: Counters; surveys?: readonly Survey[] }): Promise<Given[]>;

/** Show what `history` gave in an element of a page. */
export function showHistory(element: Element, given: readonly Given[]): void;
