import type { Runtime, Timer } from "../../../ports/runtime.ts";
import { StoreUnavailable } from "../../../ports/store.ts";

/**
 * Time without any answer after which PostgreSQL counts as unreachable, in milliseconds, if requests were in progress
 * all the time.
 */
const SILENT_AFTER_MS = 3_000;
/**
 * Delay of this class's timer, in milliseconds, above which the process itself was stalled and nobody could hear an
 * answer.
 */
const HELD_UP_MS = 1_000;

/**
 * A caller that waits. The object drops its request itself, because the tables of a grown Set keep old entries alive
 * until a full garbage collection.
 */
interface Waiter {
  reject: ((error: StoreUnavailable) => void) | null;
}

/**
 * Detects that PostgreSQL answers nothing on any connection, as when packets are lost while connections stay open.
 * Callers with waiting clients then get an error within seconds instead of after the statement timeout, and do not ask
 * the store again until it has answered another caller. The leases and the sweep for missed hints keep asking.
 */
export class StoreHealth {
  readonly #runtime: Runtime;
  /**
   * Start of the present time of unanswered requests, in milliseconds; without meaning while no request is in progress.
   */
  #sinceMs = 0;
  #asked = 0;
  readonly #clients = new Set<Waiter>();
  #timer: Timer | null = null;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Runs a request to PostgreSQL and records its answer. */
  async watch<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#asked++ === 0) this.heard();
    try {
      return await ask();
    } finally {
      this.#asked--;
    }
  }

  /** Records that PostgreSQL has answered, even with an error. */
  heard(): void {
    this.#sinceMs = this.#runtime.monotonicMs();
  }

  /**
   * Like `watch`, for requests for which clients wait.
   * @throws {StoreUnavailable} the store was not asked at all, or the request is still in progress and its outcome is unknown
   */
  async watchForClient<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#isSilent) throw this.#error(true);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const waiter: Waiter = { reject };
    this.#clients.add(waiter);
    this.watch(ask).then(resolve, reject);
    this.#wait();
    try {
      return await promise;
    } finally {
      this.#clients.delete(waiter);
      waiter.reject = null;
      if (this.#clients.size === 0) this.stop();
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
      if (this.#isSilent) for (const { reject } of this.#clients) reject?.(this.#error(false));
      else if (this.#clients.size > 0) this.#wait();
    });
  }

  #error(isUnasked: boolean): StoreUnavailable {
    const forSec = Math.round(this.#silentMs / 1_000);
    return new StoreUnavailable(`PostgreSQL has not answered anybody for ${forSec} s`, { isUnasked });
  }
}
