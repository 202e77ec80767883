import { type Checker, Violation } from "./checker.ts";
import type { Account, Ledger } from "./ledger.ts";
import type { Quiet } from "./quiet.ts";
import { nameOf } from "./roll.ts";

/** Beyond the grace time: for orders and answers to travel, and for commits that the store takes some seconds for. */
const TRAVEL_MS = 15_000;

/**
 * Timeouts are hard deadlines, kept by the owner as well as by the worker. An attempt that has begun ends within
 * its time and the grace, also where its handler holds the loop in which the worker would stop it.
 */
export function deadlinesHold(ledger: Ledger, quiet: Quiet): Checker {
  const started = new Map<string, number>();
  const judge = ({ row, current }: Account, nowMs: number) => {
    const startedMs = started.get(nameOf({ executionId: row.id, attempt: current ?? 0 }));
    if (startedMs === undefined) return;
    const { timeoutMs, cancelGraceMs } = row.job.definition.policy;
    const sinceMs = Math.max(startedMs, quiet.butForBlocksSinceMs);
    if (nowMs - sinceMs < timeoutMs + cancelGraceMs + TRAVEL_MS) return;
    const ranSec = Math.round((nowMs - startedMs) / 1_000);
    throw new Violation(`attempt ${current} of ${row.id} has run for ${ranSec} s and may run for ${timeoutMs} ms`);
  };
  return {
    name: "deadlines hold",
    noticed(moment) {
      if (moment.kind === "HANDLER_STARTED") started.set(nameOf(moment), moment.atMs);
    },
    looked(nowMs) {
      if (nowMs < quiet.butForBlocksSinceMs) return;
      for (const id of ledger.open) {
        const account = ledger.get(id) as Account;
        if (account.current !== null) judge(account, nowMs);
      }
    },
  };
}
