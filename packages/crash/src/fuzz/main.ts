import process from "node:process";
import { LoopProbe } from "../../../../tools/loop-probe.ts";
import { refuse, valuesOf } from "../command-line.ts";
import type { FuzzedEdge, FuzzResult } from "./fuzzed.ts";
import { httpEdge } from "./http-edge.ts";

/**
 * `npm run fuzz -- --edge http --inputs 1000000 --seed 1`: sends an edge this number of inputs, and fails if one of
 * them breaks it. Each input follows from the seed and its number, which the report of a fault names.
 */
const EDGES: readonly FuzzedEdge[] = [httpEdge];
const AT_ONCE = 32;
const FAULTS_MAX = 20;
/** Number of inputs after which all code has been loaded and compiled. */
const EARLY_INPUTS = 10_000;
const MIB = 1024 * 1024;

const USAGE = `Usage: npm run fuzz -- [--edge ${EDGES.map(({ name }) => name).join("|")}] [--inputs N] [--seed N] [--minutes N]`;
const values = valuesOf(USAGE, {
  edge: { type: "string", default: "http" },
  inputs: { type: "string", default: "10000" },
  seed: { type: "string", default: "1" },
  minutes: { type: "string", default: "600" },
});
const edge = EDGES.find(({ name }) => name === values.edge) ?? refuse(USAGE, `fuzz: no edge is called ${values.edge}`);
const [inputs, seed, minutes] = [Number(values.inputs), Number(values.seed), Number(values.minutes)];
if (!Number.isInteger(inputs) || inputs < 1 || !Number.isInteger(seed) || !(minutes > 0)) refuse(USAGE);
const result = await fuzz(edge, inputs, seed, minutes * 60_000);
console.log(JSON.stringify(result, null, 2));
process.exitCode = result.faults.length === 0 ? 0 : 1;

async function fuzz(edge: FuzzedEdge, inputs: number, seed: number, limitMs: number): Promise<FuzzResult> {
  const running = await edge.start();
  const probe = new LoopProbe();
  const faults: string[] = [];
  const beganMs = performance.now();
  let next = 0;
  let earlyMiB = 0;
  const work = async () => {
    while (next < inputs && faults.length < FAULTS_MAX && performance.now() - beganMs < limitMs) {
      const number = next++;
      if (number === Math.min(EARLY_INPUTS, Math.floor(inputs / 10))) earlyMiB = residentMiB();
      const fault = await running.try(seed * 2_000_003 + number);
      if (fault !== null) faults.push(`input ${number} of seed ${seed}: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const seconds = Math.round((performance.now() - beganMs) / 1_000);
  const finalMiB = residentMiB();
  const longestHoldMs = Math.round(probe.read());
  probe.stop();
  await running.stop();
  return { edge: edge.name, inputs: next, seconds, earlyMiB, finalMiB, longestHoldMs, faults };
}

function residentMiB(): number {
  return Math.round(process.memoryUsage.rss() / MIB);
}
