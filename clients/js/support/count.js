/** Counts in a file until it is killed, and says so after each change that is kept. */

import { FileStore } from "../src/node.js";

const store = new FileStore(process.argv[2]);
for (;;) {
  let seen;
  await store.update((count = 0) => (seen = count + 1));
  await new Promise((resolve) => { process.send(seen, resolve); });
}
