import type { Runtime } from "@mainspring/server/testing";
import { Dice } from "../dice.ts";
import { simUuid } from "../sim-process.ts";
import { VirtualClock } from "../virtual-clock.ts";

export interface TimekeeperOptions {
  /** Milliseconds since 1970. */
  startMs: number;
  /** Waits, in real time, for what must be over before the clock may move on, unless `isDone` comes true meanwhile. */
  settle(isDone: () => boolean): Promise<void>;
  /**
   * How far the clock may be put forward, to `untilMs` at most, although something is planned before that; it then
   * happens late. `nowMs`: not at all.
   */
  skippable(nowMs: number, untilMs: number): number;
}

/**
 * The clock of a rehearsal: it stands still until somebody drives it. Timers that are due fire also while the clock
 * stands, so that the server answers its clients.
 */
export class Timekeeper {
  readonly #options: TimekeeperOptions;
  readonly #clock = new VirtualClock();
  /** The end of the last drive: they go one after the other. */
  #lastDrive: Promise<void> = Promise.resolve();
  #working: Promise<void> | null = null;
  #isStopped = false;

  constructor(options: TimekeeperOptions) {
    this.#options = options;
  }

  /** Milliseconds since the beginning. */
  get nowMs(): number {
    return this.#clock.nowMs;
  }

  /** Milliseconds since 1970, whole. */
  now(): number {
    return Math.floor(this.#options.startMs + this.#clock.nowMs);
  }

  plan(delayMs: number, run: () => void): () => void {
    if (this.#isStopped) return () => undefined;
    const cancel = this.#clock.plan(delayMs, run);
    if (delayMs <= 0) void this.#work();
    return cancel;
  }

  /** Platform for the production code. The same dice each time: what came of them once does so again. */
  runtime(name: string): Runtime {
    const dice = new Dice(1).fork(name);
    let uuids = 0;
    return {
      now: () => this.now(),
      monotonicMs: () => this.#clock.nowMs,
      setTimer: (delayMs, run) => ({ cancel: this.plan(delayMs, run) }),
      random: () => dice.roll(),
      uuid: () => simUuid(this.now(), uuids++, dice),
      defer: (run) => queueMicrotask(run),
    };
  }

  /** Lets time pass, by so much at most, until `isDone`. Drives go one after the other. */
  async drive(byMs: number, isDone: () => boolean = () => false): Promise<void> {
    const before = this.#lastDrive;
    const drive = Promise.withResolvers<void>();
    this.#lastDrive = drive.promise;
    await before;
    try {
      const untilMs = this.#clock.nowMs + byMs;
      while (await this.#step(untilMs, isDone));
    } finally {
      drive.resolve();
    }
  }

  /** Nothing happens any more. */
  stop(): void {
    this.#isStopped = true;
  }

  /** To the next event. @returns whether there is more to come */
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

  /** Runs what is due, and what comes of it. */
  #work(): Promise<void> {
    this.#working ??= this.#clock.runUntil(this.#clock.nowMs).finally(() => {
      this.#working = null;
      if (this.#isDue()) void this.#work();
    });
    return this.#working;
  }
}
