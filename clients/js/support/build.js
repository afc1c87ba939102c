/** Writes each part of the client as one module, minified: dist/ldpsql.min.js, and for surveys with a pledge dist/shuffler.min.js. */

import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import { minify } from "terser";

const place = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
mkdirSync(place("dist"), { recursive: true });
for (const [source, name] of [["index", "ldpsql"], ["shuffler", "shuffler"]]) {
  const { outputFiles: [{ text }] } = await build({ entryPoints: [place(`src/${source}.js`)], bundle: true, minifySyntax: true, minifyWhitespace: true, format: "esm", target: "es2022", write: false });
  const { code } = await minify(text, { module: true, ecma: 2022, compress: { passes: 3 } });
  writeFileSync(place(`dist/${name}.min.js`), code);
}
