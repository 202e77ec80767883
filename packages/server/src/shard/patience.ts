import { attemptKey, type Epoch, type EpochMs, type ExecutionId, type ShardId } from "../domain/ids.ts";
import type { Entry } from "./entry.ts";
import type { MachineState } from "./state.ts";

/** Who speaks less often than this is waited for. Workers are heard of every second. */
const SILENT_AFTER_MS = 5_000;
/** A process that has not looked at its clock for so long was held up, and cannot tell who was silent meanwhile. */
const HELD_UP_MS = 2_500;

/** What was silent in a shard when its owner forgot it. */
interface Silences {
  epoch: Epoch;
  since: Map<string, EpochMs>;
}

/**
 * What one machine of a process leaves to the next: since when workers have been silent that have attempts. Otherwise each takeover
 * would wait for them from the beginning, and what they hold (permits, keys) with them, also where a node only takes its
 * own shards over again after the store was away for a moment.
 */
export class Patience {
  readonly #shards = new Map<ShardId, Silences>();
  #lookedMs = Number.NEGATIVE_INFINITY;
  /** Nobody is blamed for silence before this. */
  #notBefore = Number.NEGATIVE_INFINITY;

  /** To be called about once a second, and before shards are owned or forgotten. @param monotonicMs of this process */
  look(monotonicMs: number, now: EpochMs): void {
    if (monotonicMs - this.#lookedMs > HELD_UP_MS) this.#notBefore = now;
    this.#lookedMs = monotonicMs;
  }

  /** These shards are about to be forgotten. */
  leave(state: MachineState, shards: ReadonlySet<ShardId>, now: EpochMs): void {
    for (const shard of shards) {
      const epoch = state.epochs.get(shard);
      if (epoch !== undefined) this.#shards.set(shard, { epoch, since: new Map() });
    }
    for (const entry of state.entries.values()) {
      const silences = shards.has(entry.row.shard) ? this.#shards.get(entry.row.shard) : undefined;
      if (silences === undefined) continue;
      const since = silentSince(entry, state.limits.adoptWithinMs, now);
      if (since !== null) silences.since.set(attemptKey(entry.id, entry.row.attempt), Math.max(since, this.#notBefore));
    }
  }

  /**
   * A shard was taken over.
   * @returns since when the workers of its attempts have been silent, where it is known; nobody else may have owned it in between
   */
  take(shard: ShardId, epoch: Epoch): (id: ExecutionId, attempt: number) => EpochMs | null {
    const left = this.#shards.get(shard);
    this.#shards.delete(shard);
    if (left?.epoch !== epoch - 1) return () => null;
    return (id, attempt) => {
      const since = left.since.get(attemptKey(id, attempt));
      return since === undefined ? null : Math.max(since, this.#notBefore);
    };
  }
}

/** null: its worker was heard of lately. */
function silentSince({ assigned, timer }: Entry, adoptWithinMs: number, now: EpochMs): EpochMs | null {
  if (assigned === null) return null;
  if (assigned.adopting) return timer === null ? null : Math.min(timer.key - adoptWithinMs, now);
  const heardAt = assigned.worker?.heardAt ?? null;
  return heardAt !== null && now - heardAt > SILENT_AFTER_MS ? heardAt : null;
}
