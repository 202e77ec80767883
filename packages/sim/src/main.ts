import { parseArgs } from "node:util";
import { simulate } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    seeds: { type: "string", default: "1" },
    hours: { type: "string", default: "1" },
    workers: { type: "string", default: "10" },
    jobs: { type: "string", default: "2000" },
  },
});

let failed = 0;
for (let seed = Number(values.seed); seed < Number(values.seed) + Number(values.seeds); seed++) {
  const began = process.hrtime.bigint();
  const verdict = await simulate({
    seed,
    hours: Number(values.hours),
    workers: Number(values.workers),
    jobs: Number(values.jobs),
  });
  const tookSec = Number(process.hrtime.bigint() - began) / 1e9;
  const speed = Math.round(verdict.simulatedMs / 1_000 / tookSec);
  console.log(`seed ${seed}: ${verdict.violation ?? "everything held"}`);
  console.log(`  trace-hash ${verdict.traceHash}, ${verdict.events} events, ${speed} simulated seconds a second`);
  console.log(`  ${JSON.stringify(verdict.figures)}`);
  if (verdict.violation !== null) failed++;
}
process.exitCode = failed === 0 ? 0 : 1;
