import type { Runtime, Timer } from "../src/runtime.ts";

interface Entry {
  atMs: number;
  run: () => void;
}

/** A clock that only moves when it is told to. */
export class ManualRuntime implements Runtime {
  nowMs = 1_000_000;
  /** Time by which the wall clock was set, in milliseconds. */
  wallSetByMs = 0;
  dice = 0.5;
  #timers: Entry[] = [];
  #ids = 0;

  now(): number {
    return this.nowMs + this.wallSetByMs;
  }
  monotonicMs(): number {
    return this.nowMs;
  }
  random(): number {
    return this.dice;
  }
  uuid(): string {
    return `id-${++this.#ids}`;
  }
  setTimer(delayMs: number, run: () => void): Timer {
    const entry = { atMs: this.nowMs + delayMs, run };
    this.#timers.push(entry);
    return { cancel: () => this.#remove(entry) };
  }

  /** Moves the clock and runs what falls due, in order, with what handlers do in between. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.nowMs + byMs;
    await microtasks();
    for (let next = this.#next(untilMs); next !== undefined; next = this.#next(untilMs)) {
      this.#remove(next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
      await microtasks();
    }
    this.nowMs = untilMs;
  }

  /** The process stands still: the clock moves, and no timer runs meanwhile. */
  stall(forMs: number): void {
    this.nowMs += forMs;
  }

  /** Lets what is under way come to rest without the clock moving. */
  turn(): Promise<void> {
    return this.advance(0);
  }

  #next(untilMs: number): Entry | undefined {
    const due = this.#timers.filter((entry) => entry.atMs <= untilMs);
    return due.reduce<Entry | undefined>(
      (first, entry) => (first && first.atMs <= entry.atMs ? first : entry),
      undefined,
    );
  }

  #remove(entry: Entry): void {
    this.#timers = this.#timers.filter((other) => other !== entry);
  }
}

/** Enough for every chain of promises that a handler of a test makes. */
async function microtasks(): Promise<void> {
  for (let i = 0; i < 20; i++) await null;
}
