import type { Runtime } from "@mainspring/server/parts";
import { deferred } from "@mainspring/server/parts";
import { SeededRandom, simUuid } from "./time/seeded-random.ts";
import { VirtualClock } from "./time/virtual-clock.ts";

export interface TimekeeperOptions {
  /** Start of the simulation, in milliseconds since 1970. */
  startMs: number;
  /** Waits, in real time, for work that must end before the clock may move on, or until `isDone` returns true. */
  settle(isDone: () => boolean): Promise<void>;
  /**
   * Time to which the clock may skip, at most `untilMs`, although events are planned before; these then happen late.
   * `nowMs`: no skip.
   */
  skippable(nowMs: number, untilMs: number): number;
}

/**
 * Clock of a simulation, which stands still until a caller drives it. Due timers also fire while the clock stands, so
 * that the server answers its clients.
 */
export class Timekeeper {
  readonly #options: TimekeeperOptions;
  readonly #clock = new VirtualClock();
  /** End of the last drive, for which the next drive waits. */
  #lastDrive: Promise<void> = Promise.resolve();
  #working: Promise<void> | null = null;
  #isStopped = false;

  constructor(options: TimekeeperOptions) {
    this.#options = options;
  }

  /** Milliseconds since the start of the simulation. */
  get nowMs(): number {
    return this.#clock.nowMs;
  }

  /** Wall clock, in whole milliseconds since 1970. */
  now(): number {
    return Math.floor(this.#options.startMs + this.#clock.nowMs);
  }

  plan(delayMs: number, run: () => void): () => void {
    if (this.#isStopped) return () => undefined;
    const cancel = this.#clock.plan(delayMs, run);
    if (delayMs <= 0) void this.#work();
    return cancel;
  }

  /** Runtime for the production code. The random numbers are the same in each run, so a run can be repeated. */
  runtime(name: string): Runtime {
    const random = new SeededRandom(1).fork(name);
    let uuids = 0;
    return {
      now: () => this.now(),
      monotonicMs: () => this.#clock.nowMs,
      setTimer: (delayMs, run) => ({ cancel: this.plan(delayMs, run) }),
      random: () => random.next(),
      uuid: () => simUuid(this.now(), uuids++, random),
      defer: (run) => queueMicrotask(run),
    };
  }

  /** Lets time pass until `isDone` returns true, by at most `byMs`. Drives run one after the other. */
  async drive(byMs: number, isDone: () => boolean = () => false): Promise<void> {
    const before = this.#lastDrive;
    const drive = deferred<void>();
    this.#lastDrive = drive.promise;
    await before;
    try {
      const untilMs = this.#clock.nowMs + byMs;
      while (await this.#step(untilMs, isDone));
    } finally {
      drive.resolve();
    }
  }

  /** Stops the clock: no further event happens. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Moves to the next event. @returns whether more events are to come */
  async #step(untilMs: number, isDone: () => boolean): Promise<boolean> {
    await this.#settle(isDone);
    if (this.#isStopped || isDone()) return false;
    this.#clock.skipTo(this.#options.skippable(this.#clock.nowMs, untilMs));
    const nextMs = this.#clock.nextMs ?? Number.POSITIVE_INFINITY;
    this.#clock.skipTo(Math.min(nextMs, untilMs));
    return nextMs <= untilMs;
  }

  async #settle(isDone: () => boolean): Promise<void> {
    do {
      await this.#work();
      await this.#options.settle(isDone);
    } while (this.#isDue() && !isDone());
  }

  #isDue(): boolean {
    const { nextMs, nowMs } = this.#clock;
    return nextMs !== null && nextMs <= nowMs && !this.#isStopped;
  }

  /** Runs due events and the events that these cause. */
  #work(): Promise<void> {
    this.#working ??= this.#clock.runUntil(this.#clock.nowMs).finally(() => {
      this.#working = null;
      if (this.#isDue()) void this.#work();
    });
    return this.#working;
  }
}
