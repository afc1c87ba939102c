/** The questions that were asked in this browser, last one first. They stay on this device. */

const KEY = "ldpsql.history", MOST = 100;

/** All of them. What cannot be read counts as none, and so does a browser that keeps nothing. */
export function readHistory(storage = globalThis.localStorage) {
  try {
    const found = JSON.parse(storage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

/** Remember a question; one that was asked before moves to the front. */
export function addToHistory(sql, storage = globalThis.localStorage) {
  const next = [sql, ...readHistory(storage).filter((each) => each !== sql)].slice(0, MOST);
  try {
    storage.setItem(KEY, JSON.stringify(next));
  } catch {
    // A full or closed store keeps no history.
  }
  return next;
}

/** Forget all of them. */
export const clearHistory = (storage = globalThis.localStorage) => storage.removeItem(KEY);
