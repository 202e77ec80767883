import { parseArgs } from "node:util";
import { rememberedSeeds } from "./seeds.ts";
import { type SimulationOptions, simulate, type Verdict } from "./simulate.ts";

const USAGE = `Usage: npm run sim -- [--seed N] [--seeds COUNT] [--hours N] [--nodes N] [--workers N] [--jobs N]
       npm run sim -- --remembered      every seed that ever found something
One seed decides everything else. Exit 0: everything held.
`;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    seeds: { type: "string", default: "1" },
    hours: { type: "string", default: "1" },
    nodes: { type: "string", default: "3" },
    workers: { type: "string", default: "10" },
    jobs: { type: "string", default: "2000" },
    remembered: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

function asked(): SimulationOptions[] {
  if (values.remembered) return rememberedSeeds();
  const [seed, seeds, hours, nodes, workers, jobs] = [
    values.seed,
    values.seeds,
    values.hours,
    values.nodes,
    values.workers,
    values.jobs,
  ].map(Number) as [number, number, number, number, number, number];
  if (![seed, seeds, nodes, workers, jobs].every(Number.isInteger) || !(hours > 0) || workers < 1 || nodes < 1) {
    process.stderr.write(USAGE);
    process.exit(2);
  }
  return Array.from({ length: seeds }, (_, index) => ({ seed: seed + index, hours, nodes, workers, jobs }));
}

function told({ seed, violation, traceHash, simulatedMs, events, figures }: Verdict, tookSec: number): string {
  const speed = Math.round(simulatedMs / 1_000 / tookSec);
  return `seed ${seed}: ${violation ?? "everything held"}
  trace-hash ${traceHash}
  ${events} events, ${speed} simulated seconds a second, ${JSON.stringify(figures)}
`;
}

if (values.help) process.stdout.write(USAGE);
else {
  let failed = 0;
  for (const options of asked()) {
    const began = process.hrtime.bigint();
    const verdict = await simulate(options);
    process.stdout.write(told(verdict, Number(process.hrtime.bigint() - began) / 1e9));
    if (verdict.violation !== null) failed++;
  }
  process.stdout.write(failed === 0 ? "everything held\n" : `${failed} failed\n`);
  process.exitCode = failed === 0 ? 0 : 1;
}
