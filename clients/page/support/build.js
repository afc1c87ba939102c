/**
 * Writes what the page takes from others into src/ldpsql/server/page/vendor: each library as one module,
 * minified, and the licences of all that is in them. The lock file fixes every version, so the same
 * bytes come out anywhere; with --check nothing is written, and a file that differs is an error.
 */

import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const own = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const vendor = own("../../src/ldpsql/server/page/vendor/");
const { outputFiles, metafile } = await build({
  absWorkingDir: own("."),
  entryPoints: ["support/editor.js", "support/plot.js"],
  bundle: true,
  format: "esm",
  legalComments: "none",
  metafile: true,
  minify: true,
  outdir: vendor,
  target: "es2022",
  write: false,
});

/** Name, version, and licence of a package that is in a bundle. */
function licence(name) {
  const folder = own(`node_modules/${name}/`), about = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (!file) throw new Error(`${name} comes without a licence`);
  return `${name} ${about.version} (${about.license})\n\n${readFileSync(folder + file, "utf8").trim()}\n`;
}

const packages = new Set(Object.keys(metafile.inputs).flatMap((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? []));
const notice = `What lies here was made of these packages by others, whose licences follow.\n`;
const texts = [notice, ...[...packages].sort().map(licence)].join(`\n${"-".repeat(80)}\n\n`);
const files = [...outputFiles.map(({ path, contents }) => [path, Buffer.from(contents)]), [`${vendor}LICENSES.txt`, Buffer.from(texts)]];
for (const [path, bytes] of files) {
  if (!process.argv.includes("--check")) writeFileSync(path, bytes);
  else if (!existsSync(path) || !readFileSync(path).equals(bytes)) {
    console.error(`${path} is not what clients/page makes: npm run build`);
    process.exitCode = 1;
  }
}
