import type { Pool } from "@mainspring/server/testing";
import type { SimEvent } from "../../history.ts";
import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import { addedRows, turnsIn } from "../recurring/ledger.ts";
import { HEARD_AFTER_MS, LimitedAttempts } from "./limited-attempts.ts";

/** Longest time after which a start that a rate allows is used, in milliseconds. */
const START_FRESH_MS = 2_000;
/** Time for which an event may still delay or hasten a start, in milliseconds. */
const HAZE_MS = 60_000;
/** Number of earlier starts with which each start is compared. */
const LOOK_BACK = 20;

interface Limited {
  attempts: LimitedAttempts;
  ratePerSec: number | null;
  /** Time of the last assignment. */
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
    const set = this.#pools.get(name) ?? unrated(new LimitedAttempts(next, Number.NEGATIVE_INFINITY));
    if (this.#pools.has(name)) set.attempts.limit(next, atMs);
    this.#pools.set(name, set);
    if (ratePerSec === set.ratePerSec) return;
    set.ratePerSec = ratePerSec;
    set.rates.push({ ratePerSec: ratePerSec ?? Number.POSITIVE_INFINITY, fromMs: atMs + HEARD_AFTER_MS, startsMs: [] });
  }

  saw(event: Parameters<NonNullable<Checker["saw"]>>[0]): void {
    if (event.kind === "POOL_SET") this.#set(event.pool, event.at - EPOCH_MS);
    for (const { id, job } of addedRows(event)) this.#poolOf.set(id, job.definition.pool);
    if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
    const { ended, begun } = turnsIn(event, event.outcome);
    for (const { id } of ended) this.#of(id)?.attempts.ended(id);
    for (const { id, assignedAt } of begun) {
      const pool = this.#of(id);
      if (pool === undefined) continue;
      const rate = pool.rates.at(-1);
      if (rate !== undefined && assignedAt - EPOCH_MS >= rate.fromMs) rate.startsMs.push(assignedAt - EPOCH_MS);
      pool.startedAtMs = event.at - EPOCH_MS;
      pool.attempts.begun(id, event.at - EPOCH_MS, "a pool that allows");
    }
  }

  #of(id: string): Limited | undefined {
    return this.#pools.get(this.#poolOf.get(id) ?? "");
  }

  looked(nowMs: number): void {
    for (const { attempts } of this.#pools.values()) attempts.looked(nowMs);
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

function unrated(attempts: LimitedAttempts): Limited {
  return { attempts, ratePerSec: null, startedAtMs: Number.NEGATIVE_INFINITY, rates: [] };
}
