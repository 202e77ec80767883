import type { Runtime } from "@mainspring/server/testing";
import type { Dice } from "./dice.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/**
 * Where simulated time begins. Within the next hour the clocks were set forward in Cuiabá, and back on Miquelon and in
 * St. John's: recurring jobs meet both.
 */
export const EPOCH_MS = Date.UTC(2018, 10, 4, 3, 40);

const OVER = (): void => undefined;

/**
 * One simulated process: its clock, its timers, its dice. When it dies, nothing that it planned happens any more and
 * nothing that it waits for comes. While it is paused everything waits, and then comes at once.
 */
export class SimProcess {
  readonly name: string;
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  /** The process that this is a thread of. */
  readonly #whole: SimProcess | null;
  #alive = true;
  #pausedUntilMs = 0;
  /** How far its wall clock is off. */
  skewMs = 0;
  #uuids = 0;

  constructor(name: string, clock: VirtualClock, dice: Dice, whole: SimProcess | null = null) {
    this.#whole = whole;
    this.name = name;
    this.#clock = clock;
    this.#dice = dice;
  }

  get isAlive(): boolean {
    return this.#alive && (this.#whole?.isAlive ?? true);
  }

  /** Another thread of it: dies and pauses with it, and can be held up alone. */
  thread(name: string): SimProcess {
    return new SimProcess(`${this.name} ${name}`, this.#clock, this.#dice.fork(name), this);
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

  /** Happens in this process, if it is there then; when it is paused, as soon as it goes on. */
  plan(delayMs: number, run: () => void): () => void {
    let cancel = this.#clock.plan(delayMs, () => {
      cancel = this.take(run);
    });
    return () => cancel();
  }

  /**
   * Happens in this process now, if it is there; when it is paused, as soon as it goes on. @returns takes it back until
   * then
   */
  take(run: () => void): () => void {
    if (!this.isAlive) return OVER;
    if (this.isPaused) return this.plan(this.#resumesMs - this.#clock.nowMs, run);
    run();
    return OVER;
  }

  /** Platform for the production code. */
  runtime(): Runtime {
    return {
      now: () => Math.floor(EPOCH_MS + this.#clock.nowMs + this.skewMs),
      monotonicMs: () => this.#clock.nowMs,
      setTimer: (delayMs, run) => ({ cancel: this.plan(delayMs, run) }),
      random: () => this.#dice.roll(),
      uuid: () => this.#uuid(),
      defer: (run) => queueMicrotask(() => this.isAlive && run()),
    };
  }

  #uuid(): string {
    return simUuid(Math.floor(EPOCH_MS + this.#clock.nowMs), this.#uuids++, this.#dice);
  }
}

/** UUIDv7, growing with its time and then with the count. */
export function simUuid(timeMs: number, count: number, dice: Dice): string {
  const time = timeMs.toString(16).padStart(12, "0");
  const number = (count & 0xfff).toString(16).padStart(3, "0");
  const rest = Array.from({ length: 4 }, () => dice.between(0, 0xffff).toString(16).padStart(4, "0"));
  return `${time.slice(0, 8)}-${time.slice(8)}-7${number}-8${rest[0]?.slice(1)}-${rest.slice(1).join("")}`;
}
