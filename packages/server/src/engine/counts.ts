import type { MachineState } from "./state.ts";

/** Counts of what is in memory, by pool where a pool applies. */
export interface MachineCounts {
  /** For their time. */
  waiting: number;
  /** No worker yet. */
  ready: ReadonlyMap<string, number>;
  /** Given to a worker, */
  assigned: ReadonlyMap<string, number>;
  /** and known to have started there. */
  running: ReadonlyMap<string, number>;
  /** The same by shard, for each that is owned. */
  shardReady: ReadonlyMap<string, number>;
  shardRunning: ReadonlyMap<string, number>;
}

/** One pass over all that is in memory: for those who ask every few seconds, not for every step. */
export function countEntries(state: MachineState): MachineCounts {
  let waiting = 0;
  const ready = new Map<string, number>();
  const assigned = new Map<string, number>();
  const running = new Map<string, number>();
  const none = () => new Map(Array.from(state.epochs.keys(), (shard) => [String(shard), 0]));
  const [shardReady, shardRunning] = [none(), none()];
  for (const { place, row, assigned: attempt } of state.entries.values()) {
    if (place === "TIMER") waiting++;
    else if (place === "LANE") {
      addOne(ready, row.pool);
      addOne(shardReady, String(row.shard));
    } else if (place === "ASSIGNED") {
      addOne(assigned, row.pool);
      if (attempt === null || attempt.startedAt === null) continue;
      addOne(running, row.pool);
      addOne(shardRunning, String(row.shard));
    }
  }
  return { waiting, ready, assigned, running, shardReady, shardRunning };
}

/** When that fell due which has waited longest for a worker; null: nothing is ready. */
export function oldestReadyAt(state: MachineState): number | null {
  let oldest = Number.POSITIVE_INFINITY;
  for (const { place, row } of state.entries.values()) if (place === "LANE") oldest = Math.min(oldest, row.dueAt);
  return Number.isFinite(oldest) ? oldest : null;
}

function addOne(counts: Map<string, number>, pool: string): void {
  counts.set(pool, (counts.get(pool) ?? 0) + 1);
}
