/** Ends with an error if a part of the client, minified and compressed, has grown beyond its limit. */

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMITS = { ldpsql: 20_750, shuffler: 5_000 };
for (const [name, limit] of Object.entries(LIMITS)) {
  const size = gzipSync(readFileSync(new URL(`../dist/${name}.min.js`, import.meta.url)), { level: 9 }).length;
  console.log(`${name}: ${size} bytes, minified and compressed; at most ${limit}`);
  if (size > limit) process.exitCode = 1;
}
