import type { Client, Execution, ExecutionState, ExecutionSummary } from "@mainspring/sdk";
import { digestOf } from "./history/digest.ts";
import type { FinalExecution } from "./judge/evidence.ts";

const PAGE = 1_000;
const READERS = 8;

/** All executions of the server, as its list shows them. */
export async function listAll(client: Client): Promise<ExecutionSummary[]> {
  const executions: ExecutionSummary[] = [];
  for await (const execution of client.listExecutions({ limit: PAGE })) executions.push(execution);
  return executions;
}

/** Whether no execution is in the state. */
export async function isEmpty(client: Client, state: ExecutionState): Promise<boolean> {
  for await (const _ of client.listExecutions({ state, limit: 1 })) return false;
  return true;
}

export async function countActiveJobs(client: Client): Promise<number> {
  let count = 0;
  for await (const { state } of client.listJobs({ state: "ACTIVE", limit: PAGE })) count += state === "ACTIVE" ? 1 : 0;
  return count;
}

/** Reads all executions with all their details. */
export async function readAll(client: Client): Promise<FinalExecution[]> {
  const ids = (await listAll(client)).map(({ executionId }) => executionId);
  const executions: FinalExecution[] = [];
  const readers = Array.from({ length: READERS }, async () => {
    for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
      executions.push(digested(await client.getExecution(id)));
    }
  });
  await Promise.all(readers);
  return executions;
}

function digested({ payload, result, ...rest }: Execution): FinalExecution {
  const key = (payload as { key?: string } | null)?.key ?? null;
  return { ...rest, key, payloadSha: digestOf(payload), resultSha: digestOf(result) };
}
