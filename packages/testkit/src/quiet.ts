import { isFinal } from "@mainspring/server/testing";
import type { ExecutionRow } from "../store/execution-row.ts";
import type { StoreData } from "../store/store-data.ts";
import type { Handlers } from "./handlers.ts";

/** Nothing has happened for so long: what was under way is through. */
const QUIET_MS = 3_000;
/** So long before something is due, server and workers are awake again. */
const AWAKE_MS = 2_000;
/** The longest skip: whatever may be due unknown to this page is late by this at most. */
const SKIP_MAX_MS = 12 * 3_600_000;

/**
 * Knows when nobody has anything to do. Then the clock may be put forward, as when a laptop is closed and opened again,
 * which server and workers bear: else three days would be a million heartbeats.
 */
export class Quiet {
  readonly #data: StoreData;
  readonly #handlers: Handlers;
  #lastMs = 0;

  /** @param nowMs milliseconds since the beginning */
  constructor(data: StoreData, handlers: Handlers, nowMs: () => number) {
    this.#data = data;
    this.#handlers = handlers;
    data.observe(() => {
      this.#lastMs = nowMs();
    });
  }

  /** @returns how far the clock may be put forward, to `untilMs` at most; `nowMs`: not at all */
  skippable(nowMs: number, untilMs: number): number {
    if (nowMs - this.#lastMs < QUIET_MS || this.#handlers.areStopping) return nowMs;
    const skipMs = Math.min(untilMs - nowMs, SKIP_MAX_MS, this.#untilNextMs() - AWAKE_MS);
    if (skipMs <= 0) return nowMs;
    this.#lastMs = nowMs + skipMs;
    return nowMs + skipMs;
  }

  /** Whether nothing happens any more, unless somebody brings it about: nothing is due, and no handler runs. */
  isOver(nowMs: number): boolean {
    const isQuiet = nowMs - this.#lastMs >= QUIET_MS && !this.#handlers.areRunning;
    return isQuiet && this.#untilNextMs() === Number.POSITIVE_INFINITY;
  }

  /** How long it is until something is due; infinite: nothing is. */
  #untilNextMs(): number {
    const now = this.#data.now();
    let nextAt = Number.POSITIVE_INFINITY;
    const see = (at: number) => {
      if (at > now && at < nextAt) nextAt = at;
    };
    for (const row of this.#data.executions.all()) for (const at of instantsOf(row)) see(at);
    for (const at of this.#handlers.instants()) see(at);
    see(this.#nextFireAt(now));
    return nextAt - now;
  }

  /** When a recurring job fires next; infinite: none does. */
  #nextFireAt(now: number): number {
    let nextAt = Number.POSITIVE_INFINITY;
    this.#data.plans.due(nextAt, ({ plan: { nextFireAt } }) => {
      if (nextFireAt !== null && nextFireAt > now) nextAt = nextFireAt;
      return nextAt === Number.POSITIVE_INFINITY;
    });
    return nextAt;
  }
}

function instantsOf({ state, dueAt, job }: ExecutionRow): number[] {
  const { startBefore } = job.definition.policy;
  if (isFinal(state)) return [];
  return startBefore === null ? [dueAt] : [dueAt, startBefore];
}
