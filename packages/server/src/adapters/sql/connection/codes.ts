import type { ExecutionState, Queue, StepsMark, Trigger } from "../../../domain/execution.ts";
import { type ExecutionPolicy } from "../../../domain/job.ts";
import type { PlanState, SkipReason } from "../../../domain/recurrence.ts";
import type { StepKind } from "../../../domain/step.ts";
import type { DeliveryState } from "../../../domain/webhook.ts";
import type { Command } from "../../../ports/store-commands.ts";
import type { RunMode } from "../../../ports/store-runs.ts";

/**
 * Numbers that stand for words in stored rows. Numbers are never changed, only added: each is in databases of users,
 * and in the predicates of the partial indexes (migrations/).
 */
export const STATE_CODES: Readonly<Record<ExecutionState, number>> = {
  PENDING: 1,
  SCHEDULED: 2,
  RUNNING: 3,
  SUCCEEDED: 4,
  CANCELLED: 5,
  SKIPPED: 6,
  DEAD: 7,
};

export const QUEUE_CODES: Readonly<Record<Queue, number>> = {
  NONE: 0,
  WAITING: 1,
  READY: 2,
  HELD: 3,
  OPEN: 4,
  PARKED: 5,
};

export const TRIGGER_CODES: Readonly<Record<Trigger, number>> = {
  API: 1,
  RETRY: 2,
  SCHEDULE: 3,
  MANUAL: 4,
  BACKFILL: 5,
  NODE: 6,
};

/** The numbers 2 and 5 are for modes to come. */
export const RUN_MODE_CODES: Readonly<Record<RunMode, number>> = { RUNNING: 1, FAILING: 3, CANCELLING: 4, EXPIRING: 5 };

export const COMMAND_CODES: Readonly<Record<Command["kind"], number>> = {
  CANCEL: 1,
  REPLACE: 2,
  DELETE: 3,
  PLAN: 4,
  SIGNAL: 5,
  PAUSE_RUN: 6,
  RESUME_RUN: 7,
  NODE_ENDED: 8,
};

export const DELIVERY_STATE_CODES: Readonly<Record<DeliveryState, number>> = { PENDING: 0, DELIVERED: 1, FAILED: 2 };

export const STEP_KIND_CODES: Readonly<Record<StepKind, number>> = { RESULT: 1, CHECKPOINT: 2, WAIT: 3 };

export const STEPS_MARK_CODES: Readonly<Record<StepsMark, number>> = { RECORDED: 1, SLEEPING: 2, AWAITING: 3 };

export const PLAN_STATE_CODES: Readonly<Record<PlanState, number>> = { ACTIVE: 1, PAUSED: 2, FINISHED: 3, DELETED: 4 };

export const SKIP_REASON_CODES: Readonly<Record<SkipReason, number>> = {
  OVERLAP: 1,
  MISFIRE: 2,
  MISFIRE_LIMIT: 3,
  PAUSED: 4,
};

/**
 * Meaning of a NULL policy, which keeps the rows of nearly all executions narrow. This is a copy of the domain's
 * DEFAULT_POLICY, because stored rows must keep their meaning when the default changes.
 */
export const POLICY_OF_NULL: ExecutionPolicy = {
  retry: { maxAttempts: 5, backoff: "EXPONENTIAL", initialDelayMs: 1_000, maxDelayMs: 3_600_000, jitter: true },
  timeoutMs: 3_600_000,
  cancelGraceMs: 10_000,
  maxLost: 3,
  onWorkerLost: "RETRY",
  startBefore: null,
};

export const stateOf: (code: number) => ExecutionState = decoder("state", STATE_CODES);
export const triggerOf: (code: number) => Trigger = decoder("trigger", TRIGGER_CODES);
export const stepKindOf: (code: number) => StepKind = decoder("kind of step", STEP_KIND_CODES);
export const stepsMarkOf: (code: number) => StepsMark = decoder("mark of steps", STEPS_MARK_CODES);
export const commandKindOf: (code: number) => Command["kind"] = decoder("command", COMMAND_CODES);
export const deliveryStateOf: (code: number) => DeliveryState = decoder("state of a delivery", DELIVERY_STATE_CODES);
export const planStateOf: (code: number) => PlanState = decoder("state of a plan", PLAN_STATE_CODES);
export const skipReasonOf: (code: number) => SkipReason = decoder("reason", SKIP_REASON_CODES);
export const runModeOf: (code: number) => RunMode = decoder("mode of a run", RUN_MODE_CODES);
export const queueOf: (code: number) => Queue = decoder("queue", QUEUE_CODES);

function decoder<W extends string>(what: string, codes: Readonly<Record<W, number>>): (code: number) => W {
  const words: W[] = [];
  for (const [word, code] of Object.entries<number>(codes)) words[code] = word as W;
  return (code) => {
    const word = words[code];
    if (word === undefined) throw new Error(`A stored row has the unknown ${what} ${code}`);
    return word;
  };
}
