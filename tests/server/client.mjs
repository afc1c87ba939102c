// Five people answer the survey of a collector: node client.mjs FOLDER ADDRESS.

const [folder, address] = process.argv.slice(2);
const { Collector, Ledger, MemoryStore, Policy, respond } = await import(`${folder}/index.js`);
const collector = new Collector(address), settled = [0, 0];
const survey = await collector.survey("people");
for (let person = 0; person < 5; person++) {
  const ledger = new Ledger(new MemoryStore(), { total: "1", perAttribute: "1" });
  const policy = new Policy({ maxEpsilon: "1", public: ["shop"] });
  const answer = () => respond(survey, { age: person, shop: "north" }, { policy, ledger });
  const line = await answer();
  settled[0] += (await collector.send(ledger)).settled;
  // The same report again, as from a page that closed before it heard of the first answer.
  if ((await answer()) !== line) throw new Error("another report");
  await collector.fetch(`${address}/v1/surveys/${survey.fingerprint}/reports`, { method: "POST", body: `${line}\n` });
  settled[1] += (await collector.send(ledger)).settled;
}
const none = await collector.survey("nobody").then(() => false, () => true);
console.log(JSON.stringify({ settled, refused: none }));
