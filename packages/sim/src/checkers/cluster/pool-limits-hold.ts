import type { Pool } from "@mainspring/server/testing";
import type { SimEvent } from "../../history.ts";
import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import { addedRows, assignedIn } from "../recurring/ledger.ts";

/** Longest time after which a start that a rate allows is used, in milliseconds. */
const START_FRESH_MS = 2_000;
/** Time for which an event may still delay or hasten a start, in milliseconds. */
const HAZE_MS = 60_000;
/**
 * Time after which a lowered or new limit holds, in milliseconds: every owner has heard of it by then, or has lost its
 * shards.
 */
const HEARD_AFTER_MS = 60_000;
/** Number of earlier starts with which each start is compared. */
const LOOK_BACK = 20;

interface Limited {
  maxRunning: number;
  /** Former limit, and the time until which it counts too. */
  before: { maxRunning: number; untilMs: number };
  ratePerSec: number | null;
  current: Set<string>;
  /** Time at which the number of current attempts was last at the limit, and time of the last assignment. */
  fullAtMs: number;
  startedAtMs: number;
  /** One record for each rate, from the time at which every owner had heard of it. */
  rates: Rate[];
}

interface Rate {
  ratePerSec: number;
  fromMs: number;
  /** Times of starts, by the machine that assigned them. */
  startsMs: number[];
}

/**
 * A pool never has more current attempts than its limit, whichever nodes own their shards, and never more starts than
 * its rate.
 */
export class PoolLimitsHold implements Checker {
  readonly name = "pool limits hold";
  readonly #pools = new Map<string, Limited>();
  readonly #poolOf = new Map<string, string>();
  /** Times at which clocks were unreliable. */
  readonly #hazyMs: number[] = [];

  get(pool: string): Omit<Limited, "rates"> | undefined {
    return this.#pools.get(pool);
  }

  noticed(event: SimEvent): void {
    if (event.kind === "FAULT" && event.fault === "CLOCK_SKEWED") this.#hazyMs.push(event.atMs);
  }

  /** @param atMs milliseconds since the start of the simulation */
  #set({ name, ratePerSec, maxRunning }: Pool, atMs: number): void {
    const next = maxRunning ?? Number.POSITIVE_INFINITY;
    const pool = this.#pools.get(name) ?? unlimited();
    if (!this.#pools.has(name)) this.#pools.set(name, { ...pool, maxRunning: next });
    else if (pool.maxRunning !== next) {
      const isStill = pool.before.untilMs > atMs;
      const most = Math.max(pool.maxRunning, isStill ? pool.before.maxRunning : 0);
      pool.before = { maxRunning: most, untilMs: atMs + HEARD_AFTER_MS };
      pool.maxRunning = next;
    }
    const set = this.#pools.get(name) as Limited;
    if (ratePerSec === set.ratePerSec) return;
    set.ratePerSec = ratePerSec;
    set.rates.push({ ratePerSec: ratePerSec ?? Number.POSITIVE_INFINITY, fromMs: atMs + HEARD_AFTER_MS, startsMs: [] });
  }

  saw(event: Parameters<NonNullable<Checker["saw"]>>[0]): void {
    if (event.kind === "POOL_SET") this.#set(event.pool, event.at - EPOCH_MS);
    for (const { id, job } of addedRows(event)) this.#poolOf.set(id, job.definition.pool);
    if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
    const missed = new Set(event.outcome.missed);
    // An owner may have given up an attempt before it sent the commit that assigns the attempt. That commit also says
    // how the attempt ended.
    const endedBy = new Map<string, number>();
    for (const { after } of event.applied) {
      if (after.state === "RUNNING") continue;
      this.#of(after.id)?.current.delete(after.id);
      endedBy.set(after.id, after.attempt);
    }
    for (const { id, attempt, assignedAt } of assignedIn(event)) {
      const pool = this.#of(id);
      if (pool === undefined || missed.has(id) || (endedBy.get(id) ?? 0) >= attempt) continue;
      const rate = pool.rates.at(-1);
      if (rate !== undefined && assignedAt - EPOCH_MS >= rate.fromMs) rate.startsMs.push(assignedAt - EPOCH_MS);
      this.#assigned(pool, id, event.at - EPOCH_MS);
    }
  }

  #of(id: string): Limited | undefined {
    return this.#pools.get(this.#poolOf.get(id) ?? "");
  }

  #assigned(pool: Limited, id: string, atMs: number): void {
    const { current, maxRunning, before } = pool;
    current.add(id);
    pool.startedAtMs = atMs;
    if (current.size >= maxRunning) pool.fullAtMs = atMs;
    const allowed = Math.max(maxRunning, before.untilMs > atMs ? before.maxRunning : 0);
    if (current.size <= allowed) return;
    throw new Violation(`${current.size} of a pool that allows ${allowed} are current: ${[...current].join(", ")}`);
  }

  looked(nowMs: number): void {
    for (const pool of this.#pools.values()) {
      if (pool.current.size >= pool.maxRunning) pool.fullAtMs = nowMs;
    }
  }

  atEnd(): void {
    for (const { rates } of this.#pools.values()) for (const rate of rates) this.#judgeRate(rate);
  }

  #judgeRate({ ratePerSec, startsMs }: Rate): void {
    const sorted = [...startsMs].sort((a, b) => a - b);
    const burst = Math.max(1, ratePerSec);
    sorted.forEach((lastMs, last) => {
      for (let first = last - 1; first >= Math.max(0, last - LOOK_BACK); first--) {
        const firstMs = sorted[first] as number;
        const allowed = burst + (ratePerSec * (lastMs - firstMs + START_FRESH_MS)) / 1_000;
        const starts = last - first + 1;
        if (starts <= allowed || this.#isHazy(firstMs, lastMs)) continue;
        const within = `from ${firstMs} to ${lastMs} ms`;
        throw new Violation(`${starts} starts ${within} of a pool that allows ${ratePerSec} a second`);
      }
    });
  }

  #isHazy(fromMs: number, untilMs: number): boolean {
    return this.#hazyMs.some((atMs) => atMs > fromMs - HAZE_MS && atMs < untilMs + HAZE_MS);
  }
}

function unlimited(): Limited {
  const never = Number.NEGATIVE_INFINITY;
  const infinite = Number.POSITIVE_INFINITY;
  const before = { maxRunning: infinite, untilMs: never };
  const times = { fullAtMs: never, startedAtMs: never };
  return { maxRunning: infinite, before, ratePerSec: null, current: new Set(), ...times, rates: [] };
}
