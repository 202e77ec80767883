import type { ExecutionId, Incarnation, ShardId } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import { busy } from "./errors.ts";

/** Requests that may wait for an execution at one time. */
export const WAITERS_MAX = 10_000;
/** An execution may become final between the reading of its row and the watching: this soon is looked again. */
const FRESH_LOOK_MS = 25;
/** Messages may be lost: this often is looked at everything that is waited for. */
const LOOK_MS = 1_000;
/** Rows of one look. */
const LOOK_ROWS = 1_000;

interface Watched {
  shard: ShardId;
  /** The owner that was asked to tell. */
  owner: Incarnation | null;
  wake: Set<() => void>;
  looked: boolean;
}

export interface Waiter {
  /** Resolves when the execution may have become final, or waiting is over for everybody. */
  woken: Promise<void>;
  /** Idempotent. */
  leave(): void;
}

interface WaitersParts {
  bus: Bus;
  runtime: Runtime;
  store: Pick<Store, "load">;
}

/** Requests that wait for executions to become final. All of them together cost the store one small read a second. */
export class Waiters {
  readonly #parts: WaitersParts;
  readonly #max: number;
  readonly #watched = new Map<ExecutionId, Watched>();
  #count = 0;
  #timer: { atMs: number; timer: Timer } | null = null;
  #looking = false;
  #fullLookAtMs = 0;
  #closed = false;

  constructor(parts: WaitersParts, max: number = WAITERS_MAX) {
    this.#parts = parts;
    this.#max = max;
  }

  /** Whether nobody is to wait any more. */
  get closed(): boolean {
    return this.#closed;
  }

  /** @throws {ProblemError} 429 while too many wait */
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

  /** The owner says that it is final. */
  final(id: ExecutionId): void {
    const watched = this.#watched.get(id);
    if (watched === undefined) return;
    // Owners forget whom they have told.
    watched.owner = null;
    for (const wake of watched.wake) wake();
  }

  /** Wakes everybody, now and later. */
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
    const owner = this.#parts.bus.ownerOf(watched.shard);
    if (owner === null || owner === watched.owner) return;
    watched.owner = owner;
    this.#parts.bus.send({ node: owner, role: "scheduler" }, { kind: "WATCH", executionId: id, shard: watched.shard });
  }

  #leave(id: ExecutionId, watched: Watched, wake: () => void): void {
    if (!watched.wake.delete(wake)) return;
    this.#count--;
    if (watched.wake.size > 0) return;
    this.#watched.delete(id);
    const { owner: node, shard } = watched;
    if (node !== null) {
      this.#parts.bus.send({ node, role: "scheduler" }, { kind: "UNWATCH", executionId: id, shard });
    }
  }

  #schedule(delayMs: number): void {
    const { runtime } = this.#parts;
    const atMs = runtime.monotonicMs() + delayMs;
    if (this.#closed || this.#looking || (this.#timer !== null && this.#timer.atMs <= atMs)) return;
    this.#timer?.timer.cancel();
    const timer = runtime.setTimer(delayMs, () => {
      this.#timer = null;
      void this.#look();
    });
    this.#timer = { atMs, timer };
  }

  /** Looks for rows that are final, the new ones each time, all of them once a second. */
  async #look(): Promise<void> {
    const nowMs = this.#parts.runtime.monotonicMs();
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
    // In an outage nothing is known; the next look comes in any case.
    const rows = await this.#parts.store.load(ids).catch(() => null);
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
