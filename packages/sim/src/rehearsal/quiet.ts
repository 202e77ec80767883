import { isFinal } from "@mainspring/server/testing";
import type { ExecutionRow } from "../store/execution-row.ts";
import type { StoreData } from "../store/store-data.ts";

/** Nothing has happened for so long: what was under way is through. */
const QUIET_MS = 3_000;
/** So long before something is due, server and workers are awake again. */
const AWAKE_MS = 2_000;
/** The longest skip: whatever may be due unknown to this page is late by this at most. */
const SKIP_MAX_MS = 3_600_000;

/**
 * Knows when nobody has anything to do. Then the clock may be put forward, as when a laptop is closed and opened again,
 * which server and workers bear: else three days would be a million heartbeats.
 */
export class Quiet {
  readonly #data: StoreData;
  #lastMs = 0;

  /** @param nowMs milliseconds since the beginning */
  constructor(data: StoreData, nowMs: () => number) {
    this.#data = data;
    data.observe(() => {
      this.#lastMs = nowMs();
    });
  }

  /** @returns how far the clock may be put forward, to `untilMs` at most; `nowMs`: not at all */
  skippable(nowMs: number, untilMs: number): number {
    if (nowMs - this.#lastMs < QUIET_MS) return nowMs;
    const now = this.#data.now();
    let leftMs = Math.min(untilMs - nowMs, SKIP_MAX_MS);
    for (const row of this.#data.executions.all()) {
      for (const at of instantsOf(row)) if (at > now) leftMs = Math.min(leftMs, at - now - AWAKE_MS);
    }
    if (leftMs <= 0) return nowMs;
    this.#lastMs = nowMs + leftMs;
    return nowMs + leftMs;
  }
}

function instantsOf({ state, dueAt, job }: ExecutionRow): number[] {
  const { startBefore } = job.definition.policy;
  if (isFinal(state)) return [];
  return startBefore === null ? [dueAt] : [dueAt, startBefore];
}
