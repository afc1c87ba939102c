import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import * as client from "../src/index.js";
import { vectors } from "../support/vectors.js";

const run = promisify(execFile), here = fileURLToPath(new URL("..", import.meta.url)), read = (path) => readFileSync(join(here, path), "utf8");
const folder = mkdtempSync(join(tmpdir(), "ldpsql-package-"));
after(() => rmSync(folder, { recursive: true }));
const hasNpm = await run("npm", ["--version"]).then(() => true, () => false);
const isBuilding = existsSync(join(here, "node_modules/terser"));

/** The package, installed offline in a project that has nothing else. */
async function install() {
  if (isBuilding) await run("npm", ["run", "--silent", "build"], { cwd: here });
  const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], { cwd: here });
  const [{ filename, files }] = JSON.parse(stdout);
  writeFileSync(join(folder, "package.json"), '{"private": true, "type": "module"}');
  await run("npm", ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", `./${filename}`], { cwd: folder });
  return files.map(({ path }) => path);
}

/** A collector of one survey: its address, and the reports that it took. */
async function collect(survey) {
  const text = JSON.stringify(survey), { fingerprint } = new client.Survey(text), taken = [];
  const server = createServer(async (request, response) => {
    const answers = { [`/v1/tables/${survey.table}`]: JSON.stringify({ fingerprint }), [`/v1/surveys/${fingerprint}`]: text, [`/v1/surveys/${fingerprint}/reports`]: "" };
    if (request.method === "POST") for await (const chunk of request) taken.push(String(chunk));
    response.writeHead(request.url in answers ? 200 : 404).end(answers[request.url]);
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  after(() => server.close());
  return { url: `http://127.0.0.1:${server.address().port}`, taken };
}

test("the package works in a project that has nothing else", { timeout: 100_000, skip: !hasNpm && "there is no npm" }, async (t) => {
  const files = await install();
  for (const file of ["LICENSE", "README.md", "src/index.d.ts", "src/node.d.ts"]) assert.ok(files.includes(file), file);
  assert.ok(files.every((file) => /^(LICENSE|README.md|package.json|src\/.*|dist\/(ldpsql|shuffler).min.js)$/.test(file)), `${files}`);
  assert.equal(read("LICENSE"), read("../../LICENSE"));
  const { survey } = vectors("bad_reports");
  survey.schema.public = survey.schema.public.filter(({ name }) => name === "version");
  const { url, taken } = await collect(survey);
  const [, example] = /```js\n(.*?)```/s.exec(read("README.md"));
  for (const entry of ["@ldpsql/client", "@ldpsql/client/min"]) {
    if (entry.endsWith("min") && !isBuilding) {
      t.diagnostic("without what builds it (npm ci) the minified module is not tried");
      continue;
    }
    taken.length = 0;
    writeFileSync(join(folder, "example.js"), example.replace("https://collect.example", url).replace('"@ldpsql/client"', `"${entry}"`));
    const { stdout } = await run(process.execPath, ["example.js"], { cwd: folder });
    assert.match(stdout, /^Survey app\nAsked, to be randomized here: age \(/);
    assert.match(stdout, /\{ settled: 1, refused: 0, waiting: 0 \}\n$/);
    assert.equal(taken.length, 1);
    new client.Survey(JSON.stringify(survey)).checkReport(taken[0]);
    assert.deepEqual(Object.keys(JSON.parse(taken[0]).public), ["version"]);
    rmSync(join(folder, "ledger.json"));
  }
  const { good } = vectors("pledges");
  for (const entry of ["@ldpsql/client/shuffler", ...(isBuilding ? ["@ldpsql/client/min/shuffler"] : [])]) {
    writeFileSync(join(folder, "pledge.js"), `import { Pledge } from "${entry}";\nconsole.log(new Pledge(${JSON.stringify(good)}).shuffler);`);
    const { stdout } = await run(process.execPath, ["pledge.js"], { cwd: folder });
    assert.equal(stdout.trim(), JSON.parse(good).shuffler);
  }
});
