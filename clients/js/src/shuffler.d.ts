import type { Collector, Survey } from "./index.js";

/** What a shuffler that a policy names signs about a survey; with it, `respond` gives a report that it alone can read. */
export class Pledge {
  /** From the text of a pledge; LdpsqlError for one that breaks a rule of the format. */
  constructor(text: string);
  /** What the shuffler says about a survey.  collector: of the shuffler's address. */
  static fetch(collector: Collector, survey: Survey): Promise<Pledge>;
  /** The shuffler's Ed25519 key, which policies name. */
  readonly shuffler: string;
  /** The X25519 key to which reports are sealed. */
  readonly encryption: string;
  readonly fingerprint: string;
  readonly until: string;
}
