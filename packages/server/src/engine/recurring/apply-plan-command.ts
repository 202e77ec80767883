import { plannedInstants } from "../../domain/schedule/planned.ts";
import type { CommandOutcome } from "../../ports/messages.ts";
import type { PlanCommand, PlanOrder } from "../../ports/store-commands.ts";
import { accountPause, followChangeovers } from "./changeovers.ts";
import type { PlanDraft } from "./draft.ts";
import { accountDue, accountMisfired, accountPaused, fireBuffered } from "./due.ts";
import { replaceRule } from "./replan.ts";

/**
 * Applies a command to a plan. The command stays open until all of it is done; the plan records the progress.
 * @param orders all open commands, in order
 * @returns null: not done yet
 */
export function applyPlanCommand(
  draft: PlanDraft,
  { id, order }: PlanCommand,
  commands: readonly PlanCommand[],
): CommandOutcome | null {
  const { state } = draft.plan;
  if (state === "FINISHED" || state === "DELETED") return "NOT_PLANNED";
  if (isAhead(draft, order)) return null;
  switch (order.kind) {
    case "LOOK":
      return order.former === undefined || replaceRule(draft, order.former, commands) ? "PLANNED" : null;
    case "PAUSE":
      return state === "PAUSED" ? "PLANNED" : pause(draft, order.at);
    case "RESUME":
      return state === "ACTIVE" ? "PLANNED" : resume(draft, order);
    case "BACKFILL":
      return backfill(draft, id, order);
  }
}

/** The time of the command can lie in the future, because the clock of the API node may run ahead. */
function isAhead({ now }: PlanDraft, order: PlanOrder): boolean {
  return (order.kind === "PAUSE" || order.kind === "RESUME") && order.at > now;
}

function pause(draft: PlanDraft, at: number): CommandOutcome | null {
  if (!accountDue(draft, at)) return null;
  draft.finish();
  if (draft.plan.state === "FINISHED") return "NOT_PLANNED";
  draft.plan.state = "PAUSED";
  return "PLANNED";
}

function resume(draft: PlanDraft, order: Extract<PlanOrder, { kind: "RESUME" }>): CommandOutcome | null {
  // Instants that waited when the pause began are older than instants that fell into it.
  fireBuffered(draft);
  if (!accountPause(draft, order.at, order.catchUp ? accountMisfired : accountPaused)) return null;
  draft.plan.state = "ACTIVE";
  // Changeovers may have come into force since the command was given.
  return followChangeovers(draft) ? "PLANNED" : null;
}

/**
 * Accounts first for instants planned up to the end of the backfill, so that plan and backfill never fire the same
 * instant.
 */
function backfill(
  draft: PlanDraft,
  id: string,
  order: Extract<PlanOrder, { kind: "BACKFILL" }>,
): CommandOutcome | null {
  const { plan, now, schedule } = draft;
  if (plan.catchUps.some((catchUp) => catchUp.id === id)) return "PLANNED";
  if (plan.catchUps.some(({ trigger }) => trigger === "BACKFILL")) return "BACKFILL_OPEN";
  const until = Math.min(order.until, now + 1);
  if (!(plan.state === "PAUSED" ? accountPause(draft, until, accountPaused) : accountDue(draft, until))) return null;
  const [first] = plannedInstants(schedule, draft.changeovers, order.since, until, 1).instants;
  const { limit } = order;
  if (first !== undefined) {
    draft.putCatchUp({ id, trigger: "BACKFILL", schedule, nextAt: first, until, limit, open: [] });
  }
  return "PLANNED";
}
