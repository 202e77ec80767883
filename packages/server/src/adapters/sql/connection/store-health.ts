import type { Runtime, Timer } from "../../../ports/runtime.ts";
import { StoreUnavailable } from "../../../ports/store.ts";

/** PostgreSQL that has said nothing at all for so long although it is asked all the time is not slow: it cannot be reached. */
const SILENT_AFTER_MS = 3_000;
/** When our own timer is so late, nobody listened. */
const HELD_UP_MS = 1_000;

/** It lets go of its request itself: tables that a Set has outgrown remember what was in it until all memory is looked through. */
interface Waiter {
  reject: ((error: StoreUnavailable) => void) | null;
}

/**
 * Notices that PostgreSQL says nothing at all, over any connection, as when packets are lost and connections stand.
 * Callers with clients waiting then get an answer within seconds instead of after the statement timeout. They do not
 * ask the store again before it has answered somebody else: the leases and the sweep for missed hints go on trying.
 */
export class Silence {
  readonly #runtime: Runtime;
  /** Since when it was asked without a break and has said nothing; of no meaning while nobody asks. */
  #sinceMs = 0;
  #asked = 0;
  readonly #impatient = new Set<Waiter>();
  #timer: Timer | null = null;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Around whatever asks PostgreSQL. */
  async watch<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#asked++ === 0) this.heard();
    try {
      return await ask();
    } finally {
      this.#asked--;
    }
  }

  /** PostgreSQL has said something, be it an error. */
  heard(): void {
    this.#sinceMs = this.#runtime.monotonicMs();
  }

  /**
   * Like `watch`, for work that people wait for.
   * @throws {StoreUnavailable} it was not asked at all, or what was asked goes on and its outcome is not known
   */
  async watchImpatiently<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#isSilent) throw this.#error(true);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const waiter: Waiter = { reject };
    this.#impatient.add(waiter);
    this.watch(ask).then(resolve, reject);
    this.#wait();
    try {
      return await promise;
    } finally {
      this.#impatient.delete(waiter);
      waiter.reject = null;
      if (this.#impatient.size === 0) this.stop();
    }
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  get #silentMs(): number {
    return this.#asked === 0 ? 0 : this.#runtime.monotonicMs() - this.#sinceMs;
  }

  get #isSilent(): boolean {
    return this.#silentMs >= SILENT_AFTER_MS;
  }

  #wait(): void {
    if (this.#timer !== null) return;
    const delayMs = Math.max(0, SILENT_AFTER_MS - this.#silentMs);
    const dueMs = this.#runtime.monotonicMs() + delayMs;
    this.#timer = this.#runtime.setTimer(delayMs, () => {
      this.#timer = null;
      if (this.#runtime.monotonicMs() - dueMs > HELD_UP_MS) this.heard();
      if (this.#isSilent) for (const { reject } of this.#impatient) reject?.(this.#error(false));
      else if (this.#impatient.size > 0) this.#wait();
    });
  }

  #error(isUnasked: boolean): StoreUnavailable {
    const forSec = Math.round(this.#silentMs / 1_000);
    return new StoreUnavailable(`PostgreSQL has not answered anybody for ${forSec} s`, { isUnasked });
  }
}
