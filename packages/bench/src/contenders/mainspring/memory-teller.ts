import { setTimeout as pause } from "node:timers/promises";

/**
 * Loaded into a server's process ahead of the server, which knows nothing of it: answers each message with the memory
 * that the objects of the process use after a collection, in MiB. Needs `--expose-gc`.
 */
const ROUNDS = 5;
/** Time between two collections, in which finalizers of the first one run, in milliseconds. */
const BETWEEN_MS = 100;

process.on("message", () => void tell());
// The channel must not keep a server alive that is told to stop.
process.channel?.unref();

async function tell(): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    least = Math.min(least, heapUsed + external);
    await pause(BETWEEN_MS);
  }
  process.send?.(least / 2 ** 20);
}
