import type { WorkerDetail, WorkerInfo } from "@mainspring/sdk";
import { facts, table } from "./output.ts";

/** Text of workers for people, one per line. */
export function workersText(workers: readonly WorkerInfo[]): string {
  if (workers.length === 0) return "no workers: `mainspring worker` runs one";
  const rows = workers.map((worker) => [
    worker.workerId,
    worker.name,
    worker.state,
    worker.pool,
    `${worker.running} of ${worker.slots}`,
    String(worker.free),
    String(worker.stuck),
    worker.handlers.join(","),
    worker.capabilities.join(",") || "-",
    worker.lastHeartbeatAt,
  ]);
  const numbers = ["RUNNING", "FREE", "STUCK"];
  return table(["WORKER", "NAME", "STATE", "POOL", ...numbers, "HANDLERS", "CAPABILITIES", "HEARTBEAT"], rows);
}

/** Text of a worker for people, with its executions. */
export function workerText(worker: WorkerDetail): string {
  return `${facts(factsOf(worker))}\n\n${executionsText(worker)}`;
}

function factsOf(worker: WorkerDetail): [string, string | null][] {
  return [
    ["worker", worker.workerId],
    ["name", worker.name],
    ["state", worker.state],
    ["pool", worker.pool],
    ["pool owner", worker.poolOwner],
    ["handlers", worker.handlers.join(",")],
    ["capabilities", worker.capabilities.join(",") || "-"],
    ["running", `${worker.running} of ${worker.slots}`],
    ["free", String(worker.free)],
    ["stuck", stuckText(worker)],
    ["prefetch", worker.prefetchMode === "AUTO" ? `auto, ${worker.prefetch} now` : String(worker.prefetch)],
    ["connected", worker.connectedAt],
    ["heartbeat", worker.lastHeartbeatAt],
    ["loop lag", `${worker.loopLagMs} ms`],
  ];
}

function stuckText({ stuck }: WorkerDetail): string {
  if (stuck === 0) return "0";
  if (stuck === 1) return "1: a handler still runs although its attempt is over";
  return `${stuck}: handlers still run although their attempts are over`;
}

function executionsText({ executions, executionsTotal }: WorkerDetail): string {
  if (executions === null) return "its server is of the release before, and does not say which executions it has";
  if (executions.length === 0) return "no executions";
  const rows = executions.map(({ executionId, attempt, handler, state, startedAt }) => [
    executionId,
    String(attempt),
    handler ?? "-",
    state,
    startedAt ?? "-",
  ]);
  const text = table(["EXECUTION", "ATTEMPT", "HANDLER", "STATE", "STARTED"], rows);
  const missing = (executionsTotal ?? 0) - executions.length;
  return missing > 0 ? `${text}\n${missing} more ${missing === 1 ? "is" : "are"} not shown` : text;
}
