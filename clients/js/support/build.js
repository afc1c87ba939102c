/** Writes dist/ldpsql.min.js: everything in one module, minified. */

import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import { minify } from "terser";

const place = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const { outputFiles: [{ text }] } = await build({ entryPoints: [place("src/index.js")], bundle: true, minifySyntax: true, minifyWhitespace: true, format: "esm", target: "es2022", write: false });
const { code } = await minify(text, { module: true, ecma: 2022, compress: { passes: 3 } });
mkdirSync(place("dist"), { recursive: true });
writeFileSync(place("dist/ldpsql.min.js"), code);
