import type { Explanation, WaitReason } from "@mainspring/sdk";
import { sentence, table } from "./output.ts";

const MEANING: Record<WaitReason["reason"], string> = {
  FINAL: "it waits for nothing any more",
  RUNNING: "its handler runs",
  ASSIGNED: "a worker has it and has not started it",
  WORKER_HAS_NO_FREE_SLOT: "every slot of the worker that has it is occupied",
  WORKER_AWAITED: "its worker is to come back after a server's restart",
  CANCEL_REQUESTED: "its worker was told to stop it",
  DUE_LATER: "its time has not come",
  SLEEPING: "its handler sleeps, and holds no slot",
  AWAITS_SIGNAL: "its handler waits for a signal, and holds no slot",
  LIFETIME_ENDS: "the end of its lifetime cuts its wait or its attempt off: it is DEAD then",
  BACKOFF: "it failed and is tried again",
  WORKFLOW_PAUSED: "its workflow is paused",
  POOL_PAUSED: "nothing of its pool is started",
  TENANT_SUSPENDED: "an operator has suspended its tenant: nothing of it is started",
  POOL_AT_LIMIT: "as many of its pool are at workers as may be",
  POOL_RATE_USED: "as many of its pool have begun lately as may begin",
  PERMIT_AWAITED: "what is used of the limits of its pool or its tenant is being counted anew",
  TENANT_AT_LIMIT: "as many of its tenant are at workers as may be",
  TENANT_TURN: "work of other tenants in its pool goes first",
  NO_WORKER_FOR_HANDLER: "no worker of the pool offers its handler",
  NO_WORKER_WITH_CAPABILITY: "workers offer the handler, and none has all that it requires",
  ALL_SLOTS_BUSY: "every worker that could run it has enough to do",
  KEY_AT_LIMIT: "as many of its concurrency key run as may",
  QUEUED: "it is ready and waits for its turn",
  PARENTS_OPEN: "it waits for other nodes of its workflow",
  CHILD_RUNS: "its sub-workflow runs",
  COMPENSATES_AFTER: "it is compensated after other nodes of its workflow",
  EXECUTION_AWAITED: "its dependencies are met, and its execution is about to be created",
  ITEMS_BEING_COUNTED: "its items are being counted",
  MAP_AT_LIMIT: "as many of its items run as may",
  MAP_ITEMS_RUN: "its items run",
  OWNER_SILENT: "no scheduler answered: this is what its row says",
};

/** Text of the reasons why an execution waits, for people: one reason per line, with its figures. */
export function explanationText({ executionId, state, reasons }: Explanation): string {
  const rows = reasons.map(reasonCells);
  return `${sentence`execution ${executionId} is ${state}`}\n\n${table(REASON_HEADINGS, rows)}`;
}

/** Headings of the cells of a reason. */
export const REASON_HEADINGS = ["REASON", "WHY", "FIGURES"];

/** Cells of a reason in a table. */
export function reasonCells({ reason, ...figures }: WaitReason): string[] {
  const texts = Object.entries(figures).map(
    ([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  // A newer server may send reasons that this command does not know.
  return [reason, MEANING[reason] ?? "", texts.join(", ")];
}
