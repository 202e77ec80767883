import { EPOCH_MS } from "../sim-process.ts";
import { type Checker, Violation } from "./checker.ts";
import { addedRows } from "./ledger.ts";

interface Paused {
  /** As the store has it. */
  paused: boolean;
  /** When it was resumed last, in simulated milliseconds. */
  resumedMs: number;
  /** When a pause was confirmed that nobody has ended since; null: there is none. */
  confirmedMs: number | null;
}

/** From the answer that confirms a pause until the pool is resumed, no commit assigns anything of the pool. */
export function poolPausesHold(): Checker {
  const pools = new Map<string, Paused>();
  const poolOf = new Map<string, string>();
  return {
    name: "pool pauses hold",
    noticed(moment) {
      if (moment.kind !== "PAUSE_CONFIRMED") return;
      const pool = pools.get(moment.pool);
      // A pause that was resumed before its answer came says nothing, and neither does the next one that is unanswered yet.
      if (pool?.paused && pool.resumedMs < moment.askedMs) pool.confirmedMs = moment.atMs;
    },
    saw(event) {
      if (event.kind === "POOL_SET") {
        const { name, paused } = event.pool;
        const pool = pools.get(name) ?? { paused: false, resumedMs: Number.NEGATIVE_INFINITY, confirmedMs: null };
        const resumedMs = pool.paused && !paused ? event.at - EPOCH_MS : pool.resumedMs;
        pools.set(name, { paused, resumedMs, confirmedMs: paused ? pool.confirmedMs : null });
      }
      for (const { id, job } of addedRows(event)) poolOf.set(id, job.definition.pool);
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      for (const { id, attempt } of event.asked.assigned) {
        const name = poolOf.get(id) ?? "";
        const confirmedMs = pools.get(name)?.confirmedMs ?? null;
        if (confirmedMs === null || event.outcome.missed.includes(id)) continue;
        const since = `the pause of the pool ${name} that was confirmed at ${confirmedMs} ms`;
        throw new Violation(`attempt ${attempt} of ${id} was assigned in spite of ${since}`);
      }
    },
  };
}
