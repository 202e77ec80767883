import { createLog, type Runtime } from "@mainspring/server/testing";
import type { VirtualClock } from "@mainspring/testkit/time";
import { type SeededRandom, simUuid } from "@mainspring/testkit/time";

/**
 * Start of simulated time, in milliseconds since 1970. Within the next hour the clocks were set forward in Cuiabá, and
 * back on Miquelon and in St. John's, so recurring jobs meet both.
 */
export const EPOCH_MS = Date.UTC(2018, 10, 4, 3, 40);

const OVER = (): void => undefined;

/**
 * One simulated process: its clock, its timers, its random numbers. When the process dies, its planned events and
 * awaited answers are dropped. While it is paused, they wait, and then all happen at once.
 */
export class SimProcess {
  readonly name: string;
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  /** Process to which this thread belongs; null: this is a process. */
  readonly #whole: SimProcess | null;
  #alive = true;
  #pausedUntilMs = 0;
  /** Error of its wall clock, in milliseconds. */
  skewMs = 0;
  #uuids = 0;

  constructor(name: string, clock: VirtualClock, random: SeededRandom, whole: SimProcess | null = null) {
    this.#whole = whole;
    this.name = name;
    this.#clock = clock;
    this.#random = random;
  }

  get isAlive(): boolean {
    return this.#alive && (this.#whole?.isAlive ?? true);
  }

  /** Creates another thread of the process, which dies and pauses with it, and can be blocked alone. */
  thread(name: string): SimProcess {
    return new SimProcess(`${this.name} ${name}`, this.#clock, this.#random.fork(name), this);
  }

  kill(): void {
    this.#alive = false;
  }

  pause(forMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#clock.nowMs + forMs);
  }

  get isPaused(): boolean {
    return this.#resumesMs > this.#clock.nowMs;
  }

  get #resumesMs(): number {
    return Math.max(this.#pausedUntilMs, this.#whole === null ? 0 : this.#whole.#resumesMs);
  }

  /**
   * Plans an event in this process. It happens if the process lives then; if the process is paused, it happens at the
   * resume.
   */
  plan(delayMs: number, run: () => void): () => void {
    let cancel = this.#clock.plan(delayMs, () => {
      cancel = this.take(run);
    });
    return () => cancel();
  }

  /**
   * Runs an event in this process now, if the process lives; if it is paused, at the resume. @returns function that
   * cancels the event until then
   */
  take(run: () => void): () => void {
    if (!this.isAlive) return OVER;
    if (this.isPaused) return this.plan(this.#resumesMs - this.#clock.nowMs, run);
    run();
    return OVER;
  }

  /** Runtime for the production code. */
  runtime(): Runtime {
    return {
      now: () => Math.floor(EPOCH_MS + this.#clock.nowMs + this.skewMs),
      monotonicMs: () => this.#clock.nowMs,
      setTimer: (delayMs, run) => ({ cancel: this.plan(delayMs, run) }),
      random: () => this.#random.next(),
      uuid: () => this.#uuid(),
      defer: (run) => queueMicrotask(() => this.isAlive && run()),
    };
  }

  #uuid(): string {
    return simUuid(Math.floor(EPOCH_MS + this.#clock.nowMs), this.#uuids++, this.#random);
  }
}

/** Log that reports errors only; effects of external faults are warnings. */
export function errorLog(heard: (message: string) => void): ReturnType<typeof createLog> {
  return createLog("error", {
    write: (line) => {
      const { msg, err } = JSON.parse(line) as { msg: string; err?: { message: string } };
      heard(err === undefined ? msg : `${msg}: ${err.message}`);
    },
  });
}
