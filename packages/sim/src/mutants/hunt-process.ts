import { type Caught, HOUR_SEC, shortened, tried } from "./hunted.ts";

/**
 * Tries seeds in a process in which a mutant was planted, and says which one caught it, as JSON. Arguments: the seed to
 * begin with and its simulated seconds, how many others to try until one catches it, and how many more in search of one
 * that catches it sooner.
 */
const [first, untilSec, limit, more] = process.argv.slice(2).map(Number) as [number, number, number, number];
const others = Array.from({ length: limit }, (_, index) => index + 1).filter((seed) => seed !== first);
let caught: Caught | null = await tried(first, untilSec);
let left = more;
for (const seed of others) {
  if (caught !== null && left-- === 0) break;
  const sooner = await tried(seed, caught?.untilSec ?? HOUR_SEC);
  if (sooner !== null && sooner.afterMs < (caught?.afterMs ?? Number.POSITIVE_INFINITY)) caught = sooner;
}
if (caught !== null && more > 0) caught = await shortened(caught);
process.stdout.write(JSON.stringify(caught));
