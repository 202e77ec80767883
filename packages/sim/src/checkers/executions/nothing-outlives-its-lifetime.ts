import type { AppliedChange, ExecutionRow, StoreEvent } from "@mainspring/server/testing";
import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import type { Quiet } from "../quiet.ts";
import { type Account, assignedIn, type Ledger } from "../recurring/ledger.ts";

/** Largest error of the clocks by which servers measure a lifetime, in milliseconds. */
const CLOCKS_MS = 1_000;
/** Time for reads, commits, messages and answers after the end of a lifetime, in milliseconds. */
const BOUND_MS = 20_000;
/** Lifetime of a job that names none. */
const DEFAULT_MS = 365 * 86_400_000;

/**
 * An execution is due, and is assigned, only before the end of its lifetime. While no fault is active, it is final soon
 * after that end, and it is not ended for its lifetime's sake before, unless its last attempt failed.
 */
export function nothingOutlivesItsLifetime(ledger: Ledger, quiet: Quiet): Checker {
  return {
    name: "nothing outlives its lifetime",
    saw(event) {
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      for (const change of event.applied) judgeChange(change, event.at);
      judgeAssigned(event, ledger);
    },
    looked(nowMs) {
      for (const id of ledger.open) judgeOpen(ledger.get(id) as Account, nowMs, quiet.butForBlocksSinceMs);
    },
  };
}

function endOf({ job, trigger }: ExecutionRow): number {
  const { scheduledAt, policy } = job.definition;
  return (trigger === "BACKFILL" ? job.createdAt : scheduledAt) + (policy.maxLifetimeMs ?? DEFAULT_MS);
}

function judgeChange({ before, after }: AppliedChange, at: number): void {
  const end = endOf(after);
  const lateMs = after.dueAt - end;
  if (after.state === "PENDING" && lateMs > 0)
    throw new Violation(`${after.id} is due ${lateMs} ms after the end of its lifetime`);
  if (after.reason !== "LIFETIME_EXCEEDED" || end - at <= CLOCKS_MS) return;
  const ended = after.attempts.slice(before.attempts.length);
  if (ended.some(({ state }) => state === "FAILED" || state === "TIMED_OUT")) return;
  throw new Violation(`${after.id} ended ${end - at} ms before the end of its lifetime`);
}

function judgeAssigned(event: Extract<StoreEvent, { kind: "COMMITTED" }>, ledger: Ledger): void {
  const missed = new Set(event.outcome.missed);
  for (const { id, attempt, assignedAt } of assignedIn(event)) {
    const account = ledger.get(id);
    if (account === undefined || missed.has(id) || assignedAt < endOf(account.row)) continue;
    throw new Violation(`attempt ${attempt} of ${id} was assigned after the end of its lifetime`);
  }
}

function judgeOpen({ row }: Account, nowMs: number, quietSinceMs: number): void {
  const endMs = endOf(row) - EPOCH_MS;
  const overMs = nowMs - Math.max(endMs, quietSinceMs);
  if (overMs < row.job.definition.policy.cancelGraceMs + BOUND_MS) return;
  throw new Violation(`${row.id} is ${row.state} ${Math.round(nowMs - endMs)} ms after the end of its lifetime`);
}
