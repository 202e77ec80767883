import type { ExecutionRow, StoreData } from "@mainspring/server/parts";
import { candidateOf, isFinal, lifetimeEnd } from "@mainspring/server/parts";
import type { Handlers } from "./handlers.ts";
import { RUN } from "./run-story.ts";

/** Time without any event after which all work in progress counts as finished, in milliseconds. */
const QUIET_MS = 3_000;
/**
 * Time before the next due instant at which a skip ends, in milliseconds, so that server and workers are running
 * normally again by then.
 */
const AWAKE_MS = 2_000;
/** Longest skip, in milliseconds. An instant that this class does not know is late by at most this time. */
const SKIP_MAX_MS = 12 * 3_600_000;
/** Default time of a run, in milliseconds. */
const RUN_TIMEOUT_DEFAULT_MS = 365 * 86_400_000;

/**
 * Detects that neither server nor workers nor handlers have anything to do. The clock may then skip ahead, as when a
 * laptop is closed and opened again, which server and workers tolerate. Without skips, three simulated days would cost
 * a million heartbeats.
 */
export class Quiet {
  readonly #data: StoreData;
  readonly #handlers: Handlers;
  #lastMs = 0;

  /** @param nowMs milliseconds since the start of the simulation */
  constructor(data: StoreData, handlers: Handlers, nowMs: () => number) {
    this.#data = data;
    this.#handlers = handlers;
    data.observe(() => {
      this.#lastMs = nowMs();
    });
  }

  /** @returns time to which the clock may skip, at most `untilMs`; `nowMs`: no skip */
  skippable(nowMs: number, untilMs: number): number {
    if (nowMs - this.#lastMs < QUIET_MS || this.#handlers.areStopping) return nowMs;
    const skipMs = Math.min(untilMs - nowMs, SKIP_MAX_MS, this.#untilNextMs() - AWAKE_MS);
    if (skipMs <= 0) return nowMs;
    this.#lastMs = nowMs + skipMs;
    return nowMs + skipMs;
  }

  /** Whether nothing more happens by itself: nothing is due, and no handler runs. */
  isOver(nowMs: number): boolean {
    const isQuiet = nowMs - this.#lastMs >= QUIET_MS && !this.#handlers.areRunning;
    return isQuiet && this.#untilNextMs() === Number.POSITIVE_INFINITY;
  }

  /** Time until the next due instant, in milliseconds; Infinity: nothing is due. */
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

  /** Time at which a recurring job fires next; Infinity: none does. */
  #nextFireAt(now: number): number {
    let nextAt = Number.POSITIVE_INFINITY;
    this.#data.plans.due(nextAt, ({ plan: { nextFireAt } }) => {
      if (nextFireAt !== null && nextFireAt > now) nextAt = nextFireAt;
      return nextAt === Number.POSITIVE_INFINITY;
    });
    return nextAt;
  }
}

/**
 * Instants at which something happens to the execution by itself. The default lifetime of an execution and the default
 * deadline of a run end too late to count.
 */
function instantsOf(row: ExecutionRow): number[] {
  const { startBefore, maxLifetimeMs, timeoutMs } = row.job.definition.policy;
  if (isFinal(row.state)) return [];
  const isEndless = row.node === RUN && row.state === "RUNNING" && timeoutMs >= RUN_TIMEOUT_DEFAULT_MS;
  const instants = isEndless ? [] : [row.dueAt];
  if (startBefore !== null) instants.push(startBefore);
  if (maxLifetimeMs !== undefined) instants.push(lifetimeEnd(candidateOf(row)));
  return instants;
}
