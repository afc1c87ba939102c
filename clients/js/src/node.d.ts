import type { Store } from "./index.js";

/** A file that only its owner can read; no two processes of one machine change it at once. */
export class FileStore implements Store {
  /** patience: milliseconds for which another process is waited for. */
  constructor(path: string | URL, options?: { patience?: number });
  update(change: (value: unknown) => unknown): Promise<void>;
}
