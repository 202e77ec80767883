import { refuse, valuesOf } from "../command-line.ts";
import { complaintsOf, type FuzzFigures } from "./figures.ts";
import { fuzzMesh } from "./mesh.ts";
import { fuzzWorkers } from "./worker.ts";

/** `npm run fuzz:protocols -- --inputs 1000000 --seed 7`: sends half of the inputs to each of the two protocols. */
const USAGE = "Usage: npm run fuzz:protocols -- [--inputs N] [--seed N]";
const values = valuesOf(USAGE, {
  inputs: { type: "string", default: "100000" },
  seed: { type: "string", default: "1" },
});
const [inputs, seed] = [Number(values.inputs), Number(values.seed)];
if (!Number.isInteger(inputs) || inputs < 2 || !Number.isInteger(seed)) refuse(USAGE);
let isWell = true;
for (const fuzz of [fuzzWorkers, fuzzMesh]) {
  const figures = await fuzz(Math.floor(inputs / 2), seed);
  console.log(lineOf(figures));
  for (const complaint of complaintsOf(figures)) {
    isWell = false;
    console.error(complaint);
  }
}
process.exit(isWell ? 0 : 1);

function lineOf({ name, inputs: count, refused, slowestMs, heapMib }: FuzzFigures): string {
  const memory = `memory ${heapMib.early} MiB after a fifth and ${heapMib.late} MiB at the end`;
  return `${name}: ${count} inputs, ${refused} connections refused, the slowest input ${slowestMs.toFixed(1)} ms, ${memory}`;
}
