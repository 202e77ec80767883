import type { Runtime, Timer } from "./runtime.ts";

interface Entry {
  atMs: number;
  run: () => void;
}

/** A clock that moves only when the test moves it. */
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
    // As in real ids, the counter is before the last group, of which other ids are derived.
    const counter = (++this.#ids).toString(16).padStart(6, "0");
    return `019a0000-0000-7${counter.slice(0, 3)}-8${counter.slice(3)}-000000000000`;
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

  /** Moves the clock and runs the timers that fall due, in order, including those that they set. */
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
