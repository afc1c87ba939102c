/** Where a ledger keeps its value. */

/** In memory: for tests, and for apps that keep it elsewhere. */
export class MemoryStore {
  #value;

  async update(change) {
    this.#value = change(this.#value);
  }
}

const asPromise = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** In a browser's IndexedDB, whose transactions no two tabs or workers have at once. */
export class BrowserStore {
  constructor(name = "ldpsql") {
    this.name = name;
  }

  async update(change) {
    const opening = globalThis.indexedDB.open(this.name, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("ledger");
    const database = await asPromise(opening);
    try {
      await new Promise((resolve, reject) => {
        // Strict: it is on the disk before the report may leave.
        const transaction = database.transaction("ledger", "readwrite", { durability: "strict" }), store = transaction.objectStore("ledger");
        let problem;
        transaction.oncomplete = resolve;
        transaction.onabort = transaction.onerror = () => reject(problem ?? transaction.error);
        store.get("ledger").onsuccess = ({ target }) => {
          try {
            store.put(change(target.result), "ledger");
          } catch (error) {
            problem = error;
            transaction.abort();
          }
        };
      });
    } finally {
      database.close();
    }
  }
}
