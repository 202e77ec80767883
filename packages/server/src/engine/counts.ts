import type { MachineState } from "./state.ts";

/** Numbers of executions in the owner's memory, by pool where a pool is given. */
export interface MachineCounts {
  /** Executions that are not due yet. */
  waiting: number;
  /** Executions that wait for a worker. */
  ready: ReadonlyMap<string, number>;
  /** Executions assigned to a worker. */
  assigned: ReadonlyMap<string, number>;
  /** Executions whose attempt is known to have started. */
  running: ReadonlyMap<string, number>;
  /** READY and running executions of each owned shard, by shard. */
  shardReady: ReadonlyMap<string, number>;
  shardRunning: ReadonlyMap<string, number>;
}

/** Counts in one pass over the whole memory. Meant for readers that ask every few seconds, not for every step. */
export function countEntries(state: MachineState): MachineCounts {
  let waiting = 0;
  const ready = new Map<string, number>();
  const assigned = new Map<string, number>();
  const running = new Map<string, number>();
  const none = () => new Map(Array.from(state.epochs.keys(), (shard) => [String(shard), 0]));
  const [shardReady, shardRunning] = [none(), none()];
  for (const { place, row, assigned: attempt } of state.entries.values()) {
    if (place === "TIMER") waiting++;
    else if (place === "LANE" || place === "OPENING") {
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

/** Due time of the ready execution that has waited longest; null: no execution is ready. */
export function oldestReadyAt(state: MachineState): number | null {
  let oldest = Number.POSITIVE_INFINITY;
  for (const { place, row } of state.entries.values()) if (place === "LANE") oldest = Math.min(oldest, row.dueAt);
  return Number.isFinite(oldest) ? oldest : null;
}

function addOne(counts: Map<string, number>, pool: string): void {
  counts.set(pool, (counts.get(pool) ?? 0) + 1);
}
