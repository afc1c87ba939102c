import type { Pledge } from "./shuffler.js";

/** Days are texts as "2026-01-31", in UTC. Numbers may be given as decimal texts, which are exact. */
export type Day = string;
export type Decimal = number | string;
/** A person's record by column; dates are ISO 8601 texts without a time zone. Anything else is taken too. */
export type PersonRecord = Readonly<Record<string, unknown>>;
/** Whether an Ed25519 signature (hexadecimal) of a text is the author's. */
export type Verify = (author: string, signature: string, text: string) => boolean | Promise<boolean>;

export class LdpsqlError extends Error {
  readonly kind: "survey" | "not allowed" | "not asked" | "budget spent" | "ledger" | "report" | "random";
}

export class Survey {
  /**
   * From the text of a survey file; LdpsqlError for one that breaks a rule of the format or its promise.
   *
   * answer: the parsed answer of a collector that named it. A policy that names authors then needs their statement in it.
   */
  constructor(text: string, answer?: unknown);
  readonly table: string;
  readonly label?: string;
  readonly fingerprint: string;
  readonly author?: string;
  /** The columns of a record that do not fit: for whoever writes an app, never to be shown to anybody. */
  check(record: PersonRecord): string[];
  isOpen(day: Day): boolean;
  lastSendingDay(drawn: Day): Day;
}

export interface Limits {
  /** The largest epsilon of one report by itself, or once shuffled where it comes with the pledge of one of the shufflers. */
  maxEpsilon: Decimal;
  maxDelta?: Decimal;
  disclosure?: boolean;
  noGuarantee?: boolean;
  /** The columns that may travel in clear. */
  public?: readonly string[];
  authors?: readonly string[];
  fingerprints?: readonly string[];
  tables?: readonly string[];
  renewal?: "day" | "month";
  /** The Ed25519 keys of shufflers that are trusted to mix reports. */
  shufflers?: readonly string[];
  /** The largest epsilon by itself of a report that goes to one of them: 8 if left out. */
  maxLocalEpsilon?: Decimal;
  /** The largest delta once shuffled: 1e-4 if left out. */
  maxShuffledDelta?: Decimal;
}

/** The most that a survey may take from a person; what it does not name is refused. */
export class Policy {
  constructor(limits: Limits);
}

/** Keeps one value; no two changes may overlap, and a change is kept before it resolves. */
export interface Store {
  update(change: (value: unknown) => unknown): Promise<void>;
}

export class MemoryStore implements Store {
  update(change: (value: unknown) => unknown): Promise<void>;
}

/** A text that one process alone reads and writes, as in React Native. */
export class TextStore implements Store {
  constructor(read: () => string | null | undefined | Promise<string | null | undefined>, write: (text: string) => unknown);
  update(change: (value: unknown) => unknown): Promise<void>;
}

/** In IndexedDB. */
export class BrowserStore implements Store {
  constructor(name?: string);
  update(change: (value: unknown) => unknown): Promise<void>;
}

export interface Budgets {
  total: Decimal;
  perAttribute: Decimal;
  delta?: Decimal;
  /** The largest sum of epsilons that shufflers learn: 8 if left out. */
  totalLocal?: Decimal;
  /** The largest sum of deltas of what was given to shufflers alone: 1e-3 if left out. */
  shuffledDelta?: Decimal;
  /** Days by which the clock may be ahead of the latest day ever seen: 366 if left out. */
  longestAbsence?: number;
}

/** What a person has given so far, and which reports are still to be sent. */
export class Ledger {
  constructor(store: Store, budgets: Budgets);
}

export interface Answering {
  policy: Policy;
  ledger?: Ledger;
  day?: Day;
  /** Fills bytes from the system's source of randomness, where there is no crypto.getRandomValues. */
  random?: (bytes: Uint8Array) => void;
  verify?: Verify;
  /** Of a shuffler that the policy names (`@ldpsql/client/shuffler`): it alone can read the line. */
  pledge?: Pledge;
}

/** The line of a report; what it throws depends on the survey, the day, the policy and the ledger alone. */
export function respond(survey: Survey, record: PersonRecord, answering: Answering): Promise<string>;

/** A survey in plain words, for a consent screen: a paragraph per line. LdpsqlError for a signature that is not valid. */
export function describe(survey: Survey, options?: { verify?: Verify; pledge?: Pledge }): Promise<string>;

export class Collector {
  constructor(url: string | URL, options?: { fetch?: typeof fetch });
  survey(table: string): Promise<Survey>;
  /** pledge: of the shuffler whose address this is; what it is about is sent, sealed, and nothing else. */
  send(ledger: Ledger, day?: Day, pledge?: Pledge): Promise<{ settled: number; refused: number; waiting: number }>;
  /** Hand what the last `send` left to `sendBeacon`, at once; it stays in the ledger until it is acknowledged. */
  beacon(): void;
}
