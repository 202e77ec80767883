import assert from "node:assert/strict";
import { threadCpuUsage } from "node:process";
import type { TestContext } from "node:test";

/** Shortest block of the event loop that fails a test, in milliseconds of CPU time. */
const HOLD_MAX_MS = 50;
/** Number of tries, of which the shortest block counts, because a busy machine slows the processor itself down. */
const TRIES = 4;

/**
 * Fails if an input blocks the event loop at each of its tries.
 * @param input sends the input and checks its answers itself
 */
export async function holdsBriefly(t: TestContext, probe: LoopProbe, input: () => Promise<void>): Promise<void> {
  const holds: string[] = [];
  for (let tried = 0; tried < TRIES; tried++) {
    probe.read();
    await input();
    const heldMs = probe.read();
    holds.push(heldMs.toFixed(1));
    t.diagnostic(`the event loop was held for ${heldMs.toFixed(1)} ms at most`);
    if (heldMs < HOLD_MAX_MS) return;
  }
  assert.fail(`held for ${holds.join(", ")} ms: ${HOLD_MAX_MS} are allowed`);
}

/**
 * Measures blocks of this thread's event loop: the CPU time that the thread used between two runs of a timer. A machine
 * with other load delays the timer too, but gives the thread no CPU time meanwhile.
 */
export class LoopProbe {
  readonly #timer: NodeJS.Timeout;
  #lastMs = cpuMs();
  #longestMs = 0;

  constructor() {
    this.#timer = setInterval(() => this.#look(), 1);
  }

  /** Longest block since the last reading, in milliseconds. */
  read(): number {
    this.#look();
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const nowMs = cpuMs();
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }
}

function cpuMs(): number {
  const { user, system } = threadCpuUsage();
  return (user + system) / 1_000;
}
