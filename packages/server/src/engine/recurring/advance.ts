import type { CommandOutcome } from "../../ports/messages.ts";
import type { PlanCommand } from "../../ports/store.ts";
import { goByOwnRule } from "./anew.ts";
import { continueCatchUps, type FiredBefore, type FiredQuestion } from "./catch-ups.ts";
import { followChangeovers } from "./changeovers.ts";
import type { PlanDraft } from "./draft.ts";
import { accountDue, fireBuffered, planFromEnd } from "./due.ts";
import { obey } from "./obey.ts";

/** Outcome of the step, beside the draft. */
export interface Advanced {
  /** Outcomes of the commands, in order; a command without an outcome is not done yet. */
  outcomes: CommandOutcome[];
  /** Reads that a backfill needs before it goes on. */
  question: FiredQuestion | null;
}

/**
 * Moves a plan on to the present: accounts for what is due, obeys what is asked of it, goes on with what waited.
 * @param orders in the order in which they are to be obeyed
 * @param before what is known of the executions of its backfill
 */
export function advance(draft: PlanDraft, orders: readonly PlanCommand[], before: FiredBefore | null): Advanced {
  const { plan } = draft;
  const outcomes: CommandOutcome[] = [];
  if (plan.state === "DELETED") return { outcomes: orders.map(() => "NOT_PLANNED"), question: null };
  if (plan.state !== "FINISHED" && !goByOwnRule(draft, orders)) return { outcomes, question: null };
  if (plan.state !== "PAUSED") fireBuffered(draft);
  if (plan.state !== "FINISHED") planFromEnd(draft);
  if (!followChangeovers(draft)) return { outcomes, question: null };
  for (const order of orders) {
    const outcome = obey(draft, order, orders);
    if (outcome === null) break;
    outcomes.push(outcome);
  }
  // A plan that waits for room goes on with the next batch, by the rule that it needs.
  if (plan.state === "ACTIVE" && !draft.more) accountDue(draft, draft.now + 1);
  const question = continueCatchUps(draft, before);
  draft.finish();
  return { outcomes, question };
}
