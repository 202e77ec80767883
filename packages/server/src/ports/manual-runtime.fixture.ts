import type { Runtime, Timer } from "./runtime.ts";

interface Entry {
  atMs: number;
  run: () => void;
}

/** A clock that only moves when it is told to. */
export class ManualRuntime implements Runtime {
  #nowMs = 1_700_000_000_000;
  #timers: Entry[] = [];
  #ids = 0;

  now(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  random(): number {
    return 0.5;
  }

  uuid(): string {
    return `019a0000-0000-7000-8000-${String(++this.#ids).padStart(12, "0")}`;
  }

  setTimer(delayMs: number, run: () => void): Timer {
    const entry = { atMs: this.#nowMs + delayMs, run };
    this.#timers.push(entry);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== entry);
      },
    };
  }

  /** Moves the clock and runs what falls due, in order, with what comes of it. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    for (let next = this.#next(untilMs); next !== undefined; next = this.#next(untilMs)) {
      const due = next;
      this.#timers = this.#timers.filter((other) => other !== due);
      this.#nowMs = Math.max(this.#nowMs, due.atMs);
      due.run();
      await settled();
    }
    this.#nowMs = untilMs;
    await settled();
  }

  #next(untilMs: number): Entry | undefined {
    return this.#timers.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
  }
}

/** Enough turns for every chain of promises in these tests. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await null;
}
