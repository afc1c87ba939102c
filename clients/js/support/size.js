/** Ends with an error if the client, minified and compressed, has grown beyond its limit. */

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT = 20_250;
const size = gzipSync(readFileSync(new URL("../dist/ldpsql.min.js", import.meta.url)), { level: 9 }).length;
console.log(`${size} bytes, minified and compressed; at most ${LIMIT}`);
process.exitCode = size > LIMIT ? 1 : 0;
