import { type Checker, Violation } from "../checker.ts";
import { nameOf } from "../cluster/worker-tracker.ts";
import type { Quiet } from "../quiet.ts";
import type { Account, Ledger } from "../recurring/ledger.ts";

/**
 * Time for messages and answers beyond the grace time, in milliseconds, including commits that take the store some
 * seconds.
 */
const TRAVEL_MS = 15_000;

/**
 * Timeouts are hard deadlines, which owners enforce as well as workers. An attempt that has begun ends within its time
 * and the grace time, even if its handler blocks the event loop in which the worker would stop it.
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
    noticed(event) {
      if (event.kind === "HANDLER_STARTED") started.set(nameOf(event), event.atMs);
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
