import type { CommandOutcome } from "../../ports/messages.ts";
import type { PlanCommand } from "../../ports/store-commands.ts";
import { applyPlanCommand } from "./apply-plan-command.ts";
import { continueCatchUps, type FiredBefore, type FiredQuestion } from "./catch-ups.ts";
import { followChangeovers } from "./changeovers.ts";
import type { PlanDraft } from "./draft.ts";
import { accountDue, fireBuffered, planFromEnd } from "./due.ts";
import { planByOwnRule } from "./replan.ts";

/** Result of an advance, in addition to the draft. */
export interface Advanced {
  /** Outcomes of the commands, in order. A command without an outcome is not complete yet. */
  outcomes: CommandOutcome[];
  /** Read that a backfill needs before it continues; null: none. */
  question: FiredQuestion | null;
}

/**
 * Advances a plan to the present: accounts for instants that are due, applies commands, and continues catch-ups.
 * @param orders commands, in the order in which they must be applied
 * @param before known executions of the job's backfill; null: none were read
 */
export function advance(draft: PlanDraft, commands: readonly PlanCommand[], before: FiredBefore | null): Advanced {
  const { plan } = draft;
  const outcomes: CommandOutcome[] = [];
  if (plan.state === "DELETED") return { outcomes: commands.map(() => "NOT_PLANNED"), question: null };
  if (plan.state !== "FINISHED" && !planByOwnRule(draft, commands)) return { outcomes, question: null };
  if (plan.state !== "PAUSED") fireBuffered(draft);
  if (plan.state !== "FINISHED") planFromEnd(draft);
  if (!followChangeovers(draft)) return { outcomes, question: null };
  for (const order of commands) {
    const outcome = applyPlanCommand(draft, order, commands);
    if (outcome === null) break;
    outcomes.push(outcome);
  }
  // A plan that waits for room continues with the next batch, by the rule that it needs then.
  if (plan.state === "ACTIVE" && !draft.more) accountDue(draft, draft.now + 1);
  const question = continueCatchUps(draft, before);
  draft.finish();
  return { outcomes, question };
}
