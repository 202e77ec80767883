import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import { addedRows, assignedIn } from "../recurring/ledger.ts";

interface Paused {
  /** Whether the pool is paused in the store. */
  paused: boolean;
  /** Time of the last resume, in simulated milliseconds. */
  resumedMs: number;
  /** Time at which the present pause was confirmed; null: there is no confirmed pause. */
  confirmedMs: number | null;
}

/** From the answer that confirms a pause until the pool is resumed, no commit assigns anything of the pool. */
export function poolPausesHold(): Checker {
  const pools = new Map<string, Paused>();
  const poolOf = new Map<string, string>();
  return {
    name: "pool pauses hold",
    noticed(event) {
      if (event.kind !== "PAUSE_CONFIRMED") return;
      const pool = pools.get(event.pool);
      // A pause that was resumed before its answer came proves nothing, and neither does a later one without an answer.
      if (pool?.paused && pool.resumedMs < event.askedMs) pool.confirmedMs = event.atMs;
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
      for (const { id, attempt } of assignedIn(event)) {
        const name = poolOf.get(id) ?? "";
        const confirmedMs = pools.get(name)?.confirmedMs ?? null;
        if (confirmedMs === null || event.outcome.missed.includes(id)) continue;
        const since = `the pause of the pool ${name} that was confirmed at ${confirmedMs} ms`;
        throw new Violation(`attempt ${attempt} of ${id} was assigned in spite of ${since}`);
      }
    },
  };
}
