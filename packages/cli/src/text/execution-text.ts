import { type Execution, type ExecutionSummary, printable } from "@mainspring/sdk";
import { facts, table } from "./output.ts";

/** Text of an execution, for people. */
export function executionText(execution: Execution): string {
  const { error, attempts } = execution;
  const blocks = [facts(factsOf(execution))];
  if (error !== null) blocks.push(printable(`error: ${error.name}: ${error.message}`));
  if (attempts.length > 0) blocks.push(attemptsText(attempts));
  return blocks.join("\n\n");
}

/** Text of executions for people, one per line. */
export function executionsText(executions: readonly ExecutionSummary[]): string {
  if (executions.length === 0) return "no executions";
  const headings = ["EXECUTION", "STATE", "POOL", "HANDLER", "ATTEMPT", "SCHEDULED", "FINISHED"];
  const rows = executions.map((execution) => [
    execution.executionId,
    execution.state,
    execution.pool,
    execution.handler,
    String(execution.attempt),
    execution.scheduledAt,
    execution.finishedAt ?? "-",
  ]);
  return table(headings, rows);
}

function factsOf(execution: Execution): [string, string][] {
  const { state, reason, failures, maxAttempts, assignedWorker, startedAt, finishedAt } = execution;
  const pairs: [string, string | null][] = [
    ["execution", execution.executionId],
    ["job", execution.jobId],
    ["state", reason === null ? state : `${state} (${reason})`],
    ["handler", `${execution.handler} in pool ${execution.pool}`],
    ["priority", String(execution.priority)],
    ["attempt", `${execution.attempt}, ${failures} of at most ${maxAttempts} failed`],
    ["worker", assignedWorker],
    ["scheduled", execution.scheduledAt],
    ["started", startedAt],
    ["finished", finishedAt],
    ["payload", jsonOf(execution.payload)],
    ["result", state === "SUCCEEDED" ? jsonOf(execution.result) : null],
  ];
  return pairs.filter((pair): pair is [string, string] => pair[1] !== null);
}

function attemptsText(attempts: Execution["attempts"]): string {
  const rows = attempts.map(({ attempt, state, workerId, startedAt, finishedAt, error }) => [
    String(attempt),
    state,
    workerId,
    startedAt ?? "-",
    finishedAt,
    error === null ? "" : error.message,
  ]);
  return table(["ATTEMPT", "STATE", "WORKER", "STARTED", "FINISHED", "ERROR"], rows);
}

export function jsonOf(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
