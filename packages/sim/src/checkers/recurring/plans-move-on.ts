import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import type { Quiet } from "../quiet.ts";
import type { Ledger } from "./ledger.ts";
import type { PlanBooks } from "./plan-books.ts";

/**
 * Time within which a due instant fires while no fault is active, and within which an instant that waits for an
 * execution continues after that execution's end, in milliseconds.
 */
const BOUND_MS = 20_000;

export function plansMoveOn(ledger: Ledger, books: PlanBooks, quiet: Quiet): Checker {
  /** Time since which nothing has held back a plan. */
  const freeSinceMs = new Map<string, number>();
  return {
    name: "plans move on",
    looked(nowMs) {
      if (nowMs - quiet.sinceMs < BOUND_MS) return;
      for (const { jobId, plan, deletedAt, versions } of books.all.values()) {
        if (plan === null || deletedAt !== null) continue;
        const isOpen = plan.previous !== null && ledger.open.has(plan.previous);
        const isDue = plan.state === "ACTIVE" && plan.nextFireAt !== null && plan.nextFireAt <= EPOCH_MS + nowMs;
        const isAwaited = !isOpen && plan.state === "ACTIVE" && (plan.bufferedAt !== null || plan.nextFireAt === null);
        const isBehind = plan.state !== "FINISHED" && plan.version < (versions.at(-1)?.version ?? 0);
        const isCatchingUp = plan.catchUps.some(({ open }) => open.some((id) => ledger.open.has(id)));
        if (!(isDue || isAwaited || isBehind) || isCatchingUp) freeSinceMs.delete(jobId);
        else if (!freeSinceMs.has(jobId)) freeSinceMs.set(jobId, nowMs);
        const waitedMs = nowMs - (freeSinceMs.get(jobId) ?? nowMs);
        if (waitedMs > BOUND_MS) throw new Violation(`the plan of ${jobId} stands still: ${JSON.stringify(plan)}`);
      }
    },
  };
}
