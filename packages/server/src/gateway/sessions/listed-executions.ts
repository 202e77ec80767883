import type { WorkerExecution, WorkerStatus } from "../../ports/messages.ts";
import { EXECUTIONS_LISTED_MAX } from "../limits.ts";
import type { Held } from "./held.ts";

const STATES = ["STUCK", "RUNNING", "WAITING"] as const;

/**
 * Lists the attempts that occupy a slot of the worker or wait for one there: STUCK ones first, then RUNNING, then
 * WAITING. Results that wait for acknowledgement are left out, unless their handlers still run.
 */
export function listedExecutions(held: Iterable<Held>): Required<Pick<WorkerStatus, "executions" | "executionsTotal">> {
  const byState: Record<WorkerExecution["state"], WorkerExecution[]> = { STUCK: [], RUNNING: [], WAITING: [] };
  let executionsTotal = 0;
  for (const attempt of held) {
    const state = stateOf(attempt);
    if (state === null) continue;
    executionsTotal++;
    if (byState[state].length < EXECUTIONS_LISTED_MAX) byState[state].push(listed(attempt, state));
  }
  const executions = STATES.flatMap((state) => byState[state]).slice(0, EXECUTIONS_LISTED_MAX);
  return { executions, executionsTotal };
}

/** State of an attempt in the list; null: the attempt occupies no slot any more. */
function stateOf({ state, stillRunning }: Held): WorkerExecution["state"] | null {
  if (state === "OVER" || stillRunning) return "STUCK";
  if (state === "STARTED") return "RUNNING";
  return state === "ASSIGNED" ? "WAITING" : null;
}

function listed({ token, handler, startedAt }: Held, state: WorkerExecution["state"]): WorkerExecution {
  return { executionId: token.executionId, attempt: token.attempt, handler, state, startedAt };
}
