import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { cpuMs, type LoopProbe } from "../../../../tools/loop-probe.ts";

/** Shortest block of the event loop that fails a test on a machine at full speed, in milliseconds of CPU time. */
const HOLD_MAX_MS = 50;
/** Largest JSON body of a job, whose parsing is a step that the server cannot divide. */
const REFERENCE_TEXT = `[1${",[]".repeat(300_000)}]`;
/** CPU time that parsing the reference text takes on a machine at full speed, in milliseconds. */
const REFERENCE_MS = 13;
const REFERENCE_RUNS = 3;
/** Number of tries, of which the shortest block counts, because a busy machine slows the processor itself down. */
const TRIES = 5;

/**
 * Fails if an input blocks the event loop at each of its tries. A slow machine may need more CPU time, in proportion to
 * the time that it needs for the reference text right after the try.
 * @param input sends the input and checks its answers itself
 */
export async function holdsBriefly(t: TestContext, probe: LoopProbe, input: () => Promise<void>): Promise<void> {
  const holds: string[] = [];
  for (let tried = 0; tried < TRIES; tried++) {
    probe.read();
    await input();
    const heldMs = probe.read();
    const allowedMs = HOLD_MAX_MS * Math.max(1, referenceMs() / REFERENCE_MS);
    holds.push(`${heldMs.toFixed(1)} of ${allowedMs.toFixed(1)}`);
    t.diagnostic(`the event loop was held for ${heldMs.toFixed(1)} ms at most, ${allowedMs.toFixed(1)} are allowed`);
    if (heldMs < allowedMs) return;
  }
  assert.fail(`held for ${holds.join(", ")} ms that are allowed`);
}

/** Shortest of a few runs, because a collection of garbage may fall into one. */
function referenceMs(): number {
  const runs = Array.from({ length: REFERENCE_RUNS }, () => {
    const began = cpuMs();
    JSON.parse(REFERENCE_TEXT);
    return cpuMs() - began;
  });
  return Math.min(...runs);
}
