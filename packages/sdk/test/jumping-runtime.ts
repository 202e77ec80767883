import type { Runtime, Timer } from "../src/runtime.ts";

/**
 * Waits take no time: the clock jumps over the timers that a client waits for, and writes down how long they were.
 * Timers that guard an answer are longer than any wait, and stay set.
 */
export class JumpingRuntime implements Runtime {
  readonly waitsMs: number[] = [];
  /** All guards that were ever set. */
  readonly guardsMs: number[] = [];
  nowMs = 1_000_000;
  dice = 0.5;
  readonly #guardMs: number;
  #guards: (() => void)[] = [];

  /** @param guardMs timers from this on are guards */
  constructor(guardMs = 40_000) {
    this.#guardMs = guardMs;
  }

  now(): number {
    return this.nowMs;
  }
  monotonicMs(): number {
    return this.nowMs;
  }
  random(): number {
    return this.dice;
  }
  uuid(): string {
    return "an-id";
  }

  defer(run: () => void): void {
    setImmediate(run);
  }

  setTimer(delayMs: number, run: () => void): Timer {
    if (delayMs >= this.#guardMs) {
      this.guardsMs.push(delayMs);
      return this.#guard(run);
    }
    let isCancelled = false;
    this.waitsMs.push(delayMs);
    setImmediate(() => {
      if (isCancelled) return;
      this.nowMs += delayMs;
      run();
    });
    return {
      cancel: () => {
        isCancelled = true;
      },
    };
  }

  /** The answers that are waited for take too long. */
  runOut(): void {
    for (const run of this.#guards.splice(0)) run();
  }

  #guard(run: () => void): Timer {
    this.#guards.push(run);
    return {
      cancel: () => {
        this.#guards = this.#guards.filter((other) => other !== run);
      },
    };
  }
}
