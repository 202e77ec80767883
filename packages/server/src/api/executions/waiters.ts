import type { ExecutionId, Incarnation, ShardId } from "../../domain/ids.ts";
import type { Bus } from "../../ports/bus.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import { busy } from "../http/errors.ts";

/** Largest number of requests that may wait for an execution at one time. */
export const WAITERS_MAX = 10_000;
/**
 * Delay of the first check of a new waiter, in milliseconds: the execution may become final between the read of its row
 * and the start of the watch.
 */
const FRESH_LOOK_MS = 25;
/** Interval of checks of everything that is waited for, in milliseconds, because messages may be lost. */
const LOOK_MS = 1_000;
/** Largest number of rows that one check reads. */
const LOOK_ROWS = 1_000;

interface Watched {
  shard: ShardId;
  /** Owner that was asked to report the end; null: none. */
  owner: Incarnation | null;
  wake: Set<() => void>;
  looked: boolean;
}

export interface Waiter {
  /** Resolves when the execution may have become final, or when all waiting ends. */
  woken: Promise<void>;
  /** Ends the wait. Repeated calls do nothing. */
  leave(): void;
}

interface WaitersDependencies {
  bus: Bus;
  runtime: Runtime;
  store: Pick<Store, "load">;
}

/** Requests that wait for executions to become final. All of them together cost the store one small read a second. */
export class Waiters {
  readonly #deps: WaitersDependencies;
  readonly #max: number;
  readonly #watched = new Map<ExecutionId, Watched>();
  #count = 0;
  #timer: { atMs: number; timer: Timer } | null = null;
  #looking = false;
  #fullLookAtMs = 0;
  #closed = false;

  constructor(deps: WaitersDependencies, max: number = WAITERS_MAX) {
    this.#deps = deps;
    this.#max = max;
  }

  /** Whether all waiting has ended. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Adds a waiter. @throws {ProblemError} 429 while too many requests wait */
  enter(id: ExecutionId, shard: ShardId): Waiter {
    if (this.#count >= this.#max) throw busy("too-many-requests", "too many requests wait for executions", 5);
    const watched = this.#watched.get(id) ?? this.#watch(id, shard);
    this.#count++;
    let wake = () => {};
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    watched.wake.add(wake);
    if (this.#closed) wake();
    this.#schedule(FRESH_LOOK_MS);
    return { woken, leave: () => this.#leave(id, watched, wake) };
  }

  /** Called when the owner reports that an execution is final. */
  final(id: ExecutionId): void {
    const watched = this.#watched.get(id);
    if (watched === undefined) return;
    // An owner forgets a watch once it has reported.
    watched.owner = null;
    for (const wake of watched.wake) wake();
  }

  /** Wakes all waiters, now and later. */
  close(): void {
    this.#closed = true;
    this.#timer?.timer.cancel();
    for (const { wake } of this.#watched.values()) for (const each of wake) each();
  }

  #watch(id: ExecutionId, shard: ShardId): Watched {
    const watched: Watched = { shard, owner: null, wake: new Set(), looked: false };
    this.#watched.set(id, watched);
    this.#tellOwner(id, watched);
    return watched;
  }

  #tellOwner(id: ExecutionId, watched: Watched): void {
    const owner = this.#deps.bus.ownerOf(watched.shard);
    if (owner === null || owner === watched.owner) return;
    watched.owner = owner;
    this.#deps.bus.send({ node: owner, role: "scheduler" }, { kind: "WATCH", executionId: id, shard: watched.shard });
  }

  #leave(id: ExecutionId, watched: Watched, wake: () => void): void {
    if (!watched.wake.delete(wake)) return;
    this.#count--;
    if (watched.wake.size > 0) return;
    this.#watched.delete(id);
    const { owner: node, shard } = watched;
    if (node !== null) {
      this.#deps.bus.send({ node, role: "scheduler" }, { kind: "UNWATCH", executionId: id, shard });
    }
  }

  #schedule(delayMs: number): void {
    const { runtime } = this.#deps;
    const atMs = runtime.monotonicMs() + delayMs;
    if (this.#closed || this.#looking || (this.#timer !== null && this.#timer.atMs <= atMs)) return;
    this.#timer?.timer.cancel();
    const timer = runtime.setTimer(delayMs, () => {
      this.#timer = null;
      void this.#look();
    });
    this.#timer = { atMs, timer };
  }

  /** Reads rows to find final ones: new waiters each time, all waiters once a second. */
  async #look(): Promise<void> {
    const nowMs = this.#deps.runtime.monotonicMs();
    const all = nowMs - this.#fullLookAtMs >= LOOK_MS;
    if (all) this.#fullLookAtMs = nowMs;
    const ids = [...this.#watched].filter(([, watched]) => all || !watched.looked).map(([id]) => id);
    this.#looking = true;
    for (let from = 0; from < ids.length; from += LOOK_ROWS) await this.#lookAt(ids.slice(from, from + LOOK_ROWS));
    this.#looking = false;
    if (this.#watched.size > 0) this.#schedule(this.#anyFresh() ? FRESH_LOOK_MS : LOOK_MS);
  }

  #anyFresh(): boolean {
    return [...this.#watched.values()].some(({ looked }) => !looked);
  }

  async #lookAt(ids: readonly ExecutionId[]): Promise<void> {
    // In an outage, nothing is known; the next check follows in any case.
    const rows = await this.#deps.store.load(ids).catch(() => null);
    const open = new Set(rows?.map(({ id }) => id) ?? ids);
    for (const id of ids) {
      const watched = this.#watched.get(id);
      if (watched === undefined) continue;
      watched.looked = true;
      if (open.has(id)) this.#tellOwner(id, watched);
      else for (const wake of watched.wake) wake();
    }
  }
}
