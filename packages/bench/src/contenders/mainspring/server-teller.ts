import { setTimeout as pause } from "node:timers/promises";
import { LoopProbe } from "../../../../../tools/loop-probe.ts";

/**
 * Loaded into a server's process ahead of the server, which knows nothing of it. Needs `--expose-gc`. `COLLECT` is answered
 * with the memory that the objects of the process use after a collection, in MiB, and `HELD` with the longest block of the
 * event loop since `WATCH`, in milliseconds.
 */
export type Question = "COLLECT" | "WATCH" | "HELD";

const ROUNDS = 5;
/** Time between two collections, in which finalizers of the first one run, in milliseconds. */
const BETWEEN_MS = 100;

let probe: LoopProbe | null = null;

process.on("message", (question: Question) => {
  if (question === "COLLECT") void tellMemory();
  else if (question === "WATCH") probe = new LoopProbe();
  else tellHold();
});
// The channel must not keep a server alive that is told to stop.
process.channel?.unref();

async function tellMemory(): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    least = Math.min(least, heapUsed + external);
    await pause(BETWEEN_MS);
  }
  process.send?.(least / 2 ** 20);
}

function tellHold(): void {
  process.send?.(probe?.read() ?? 0);
  probe?.stop();
  probe = null;
}
