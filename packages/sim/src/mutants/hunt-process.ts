import { mutantNamed } from "./all.ts";
import { type Caught, HOUR_SEC, shortened, type Tried, tried } from "./hunted.ts";

/** Simulated seconds: often enough, and cheaper than an hour. */
const QUARTER_SEC = 900;
const QUARTERS = 20;

/**
 * Tries seeds in a process with a planted mutant, and prints the seed that caught it, as JSON. Arguments: the first
 * seed and its simulated seconds, the number of other seeds to try until one catches the mutant (after the first seed's
 * whole hour), and the number of further seeds in search of one that catches it sooner.
 */
const [first, untilSec, limit, more] = process.argv.slice(2).map(Number) as [number, number, number, number];
const mutant = mutantNamed(process.env["MAINSPRING_MUTANT"] ?? "");
const seeds = Array.from({ length: limit }, (_, index) => index + 1);
const tries: Tried[] = [{ seed: first, untilSec }];
if (limit > 0) tries.push({ seed: first, untilSec: HOUR_SEC });
for (const seed of seeds.slice(0, QUARTERS)) tries.push({ seed, untilSec: QUARTER_SEC });
for (const seed of seeds) tries.push({ seed, untilSec: HOUR_SEC });
let caught: Caught | null = null;
let left = more;
for (const next of tries) {
  if (caught !== null && left-- === 0) break;
  const sooner: Caught | null = await tried(next.seed, Math.min(next.untilSec, caught?.untilSec ?? HOUR_SEC), mutant);
  if (sooner !== null && sooner.afterMs < (caught?.afterMs ?? Number.POSITIVE_INFINITY)) caught = sooner;
}
if (caught !== null && more > 0) caught = await shortened(caught, mutant);
process.stdout.write(JSON.stringify(caught));
