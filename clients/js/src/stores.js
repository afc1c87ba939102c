/** Where a ledger keeps its value. */

/** In memory: for tests, and for apps that keep it elsewhere. */
export class MemoryStore {
  #value;

  async update(change) {
    this.#value = change(this.#value);
  }
}

/** The value of a text; null, which a ledger refuses, for one that is none. */
export function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * As a text that one process alone reads and writes, as in React Native.
 *
 * read: gives the last text, or null or undefined, where there is none.  write: keeps a text, whole,
 * before what it returns resolves. Both may be asynchronous.
 */
export class TextStore {
  #last = Promise.resolve();

  constructor(read, write) {
    Object.assign(this, { read, write });
    Object.freeze(this);
  }

  update(change) {
    const next = this.#last.then(async () => {
      const text = await this.read();
      await this.write(JSON.stringify(change(text == null ? undefined : parse(text))));
    });
    this.#last = next.catch(() => {});
    return next;
  }
}

/** In a browser's IndexedDB, whose transactions no two tabs or workers have at once. */
export class BrowserStore {
  constructor(name = "ldpsql") {
    this.name = name;
  }

  update(change) {
    return new Promise((resolve, reject) => {
      const opening = globalThis.indexedDB.open(this.name, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("ledger");
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        // Strict: it is on the disk before the report may leave.
        const database = opening.result, transaction = database.transaction("ledger", "readwrite", { durability: "strict" }), store = transaction.objectStore("ledger");
        let problem;
        const end = (settle) => () => { database.close(); settle(problem ?? transaction.error); };
        transaction.oncomplete = end(resolve);
        transaction.onabort = end(reject);
        store.get("ledger").onsuccess = ({ target }) => {
          try {
            store.put(change(target.result), "ledger");
          } catch (error) {
            problem = error;
            transaction.abort();
          }
        };
      };
    });
  }
}
