import { simulate } from "../simulate.ts";
import type { Caught } from "./hunt.ts";
import { HUNTED } from "./hunted.ts";

/**
 * Tries seeds in a process in which a mutant was planted, and says which one caught it, as JSON. Arguments: the seed to
 * begin with, how many others to try until one catches it, and how many more in search of one that catches it sooner.
 */
const [first, limit, more] = process.argv.slice(2).map(Number) as [number, number, number];
const others = Array.from({ length: limit }, (_, index) => index + 1);
let caught: Caught | null = null;
let left = more;
for (const seed of new Set([first, ...others])) {
  if (caught !== null && left-- === 0) break;
  const bestMs: number = caught?.afterMs ?? Number.POSITIVE_INFINITY;
  const { violation, checker, simulatedMs } = await simulate({ seed, ...HUNTED, only: { untilMs: bestMs } });
  if (violation === null || simulatedMs >= bestMs) continue;
  caught = { seed, violation, checker, afterMs: simulatedMs };
}
process.stdout.write(JSON.stringify(caught));
