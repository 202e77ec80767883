import type { StoreEvent } from "@mainspring/server/testing";
import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import type { PoolLimitsHold } from "../cluster/pool-limits-hold.ts";
import type { TenantLimitsHold } from "../cluster/tenant-limits-hold.ts";
import { nameOf, type WorkerTracker } from "../cluster/worker-tracker.ts";
import type { Quiet } from "../quiet.ts";
import { type Account, assignedIn, isRun, type Ledger } from "../recurring/ledger.ts";

/** Longest wait of work that could run while no fault is active, in milliseconds. */
const BOUND_MS = 20_000;

interface KnownLimits {
  pools: PoolLimitsHold;
  tenants: TenantLimitsHold;
  /** Whether free slots may be kept from tenants that have attempts. */
  hasHeadroom: boolean;
}

/**
 * With a free worker that can run it, an execution starts within the limit; so does a run of a workflow that nothing holds
 * back. Other checkers judge runs that have begun. The checker of paused runs judges how long a node is parked.
 */
export function startsInTime(ledger: Ledger, tracker: WorkerTracker, quiet: Quiet, limits: KnownLimits): Checker {
  /**
   * Time of the last assignment by concurrency key; other executions of the key may have to wait for a while after it.
   */
  const keyUsedMs = new Map<string, number>();
  const started = new Set<string>();
  let hasGoneBack = false;
  const isHeldBack = (key: string | null, nowMs: number) =>
    key !== null && (nowMs - (keyUsedMs.get(key) ?? Number.NEGATIVE_INFINITY) < BOUND_MS || isKeyHeld(ledger, key));
  const waits = ({ row }: Account, nowMs: number) => {
    const { requires, concurrencyKey, pool } = row.job.definition;
    const sinceMs = Math.max(row.dueAt - EPOCH_MS, row.updatedAt - EPOCH_MS, quiet.sinceMs);
    if (nowMs - sinceMs < BOUND_MS || isHeldBack(concurrencyKey, nowMs)) return;
    if (isRun(row) && row.queue === "OPEN") return;
    if (isRun(row))
      throw new Violation(`the run ${row.id} could have begun and has waited for ${seconds(nowMs - sinceMs)}`);
    if (isAtLimit(limits, row.job.tenant, pool, { nowMs, hasGoneBack })) return;
    if (limits.hasHeadroom && hasAttempt(ledger, row.job.tenant)) return;
    const worker = tracker.freeFor(requires, nowMs - BOUND_MS);
    if (worker === null) return;
    throw new Violation(`${row.id} could have run on ${worker} and has waited for ${seconds(nowMs - sinceMs)}`);
  };
  const isOnItsWay = ({ row, assigned, current }: Account, nowMs: number) => {
    const attempt = current ?? 0;
    const { worker = "", at = 0 } = assigned.get(attempt) ?? {};
    const sinceMs = Math.max(at - EPOCH_MS, quiet.sinceMs);
    if (nowMs - sinceMs < BOUND_MS || started.has(nameOf({ executionId: row.id, attempt }))) return;
    // An attempt that waits at a worker moves to another worker that could run the attempt.
    const free = tracker.freeFor(row.job.definition.requires, nowMs - BOUND_MS);
    if (free === null) return;
    throw new Violation(`attempt ${attempt} of ${row.id} was given to ${worker} and never began; ${free} was free`);
  };
  return {
    name: "starts in time",
    saw(event) {
      if (event.kind === "WENT_BACK") {
        // The restored store assigns these tokens again.
        started.clear();
        hasGoneBack = true;
      }
      if (event.kind !== "COMMITTED") return;
      for (const key of keysOfRuns(event)) keyUsedMs.set(key, event.at - EPOCH_MS);
      for (const { id } of assignedIn(event)) {
        const key = ledger.get(id)?.row.job.definition.concurrencyKey;
        if (key != null) keyUsedMs.set(key, event.at - EPOCH_MS);
      }
    },
    noticed(event) {
      if (event.kind === "HANDLER_STARTED") started.add(nameOf(event));
    },
    looked(nowMs) {
      if (nowMs - quiet.sinceMs < BOUND_MS) return;
      for (const id of ledger.open) {
        const account = ledger.get(id) as Account;
        if (account.current !== null) isOnItsWay(account, nowMs);
        else if (account.row.queue !== "PARKED") waits(account, nowMs);
      }
    },
  };
}

/** Whether the limit of the pool or of the tenant was reached lately. After a restore, the numbers of current attempts are unknown. */
function isAtLimit(
  { pools, tenants }: KnownLimits,
  tenant: string,
  pool: string,
  { nowMs, hasGoneBack }: { nowMs: number; hasGoneBack: boolean },
): boolean {
  const ofTenant = tenants.get(tenant);
  if (ofTenant !== undefined && (hasGoneBack || nowMs - ofTenant.fullAtMs < BOUND_MS)) return true;
  const limited = pools.get(pool);
  if (limited === undefined) return false;
  const { ratePerSec, attempts, startedAtMs } = limited;
  if (hasGoneBack || nowMs - attempts.fullAtMs < BOUND_MS) return true;
  return ratePerSec !== null && nowMs - startedAtMs < BOUND_MS + 1_000 / ratePerSec;
}

function hasAttempt(ledger: Ledger, tenant: string): boolean {
  return [...ledger.open].some((id) => {
    const account = ledger.get(id);
    return account?.row.job.tenant === tenant && account.current !== null;
  });
}

/** Whether an attempt or a run has the key: a key may allow one, whatever its limit. */
function isKeyHeld(ledger: Ledger, key: string): boolean {
  return [...ledger.open].some((id) => {
    const account = ledger.get(id);
    if (account?.row.job.definition.concurrencyKey !== key) return false;
    return account.current != null || account.row.queue === "OPEN";
  });
}

/** Keys of the runs that a commit opens or ends. The next run of a key is read before it can begin. */
function keysOfRuns({ applied }: Extract<StoreEvent, { kind: "COMMITTED" }>): string[] {
  const runs = applied.filter(({ after }) => isRun(after));
  return runs.map(({ after }) => after.job.definition.concurrencyKey).filter((key) => key !== null);
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
