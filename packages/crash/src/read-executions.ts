import type {
  Client,
  Execution,
  ExecutionState,
  ExecutionSummary,
  MainspringError,
  WorkflowNode,
} from "@mainspring/sdk";
import { digestOf } from "./history/digest.ts";
import type { FinalExecution, FinalRequest, FinalRun } from "./judge/evidence.ts";

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

/** Reads all executions that lists show, with all their details. */
export async function readAll(client: Client): Promise<FinalExecution[]> {
  const listed = await listAll(client);
  return await readEach(
    client,
    listed.map(({ executionId }) => executionId),
  );
}

/** Reads the executions of the nodes of runs, which lists do not show. */
export function readNodes(client: Client, runs: readonly FinalRun[]): Promise<FinalExecution[]> {
  return readEach(
    client,
    runs.flatMap(({ nodes }) => nodes.flatMap(({ executionId }) => executionId ?? [])),
  );
}

/** Reads all runs of workflows with their nodes. */
export async function readRuns(client: Client): Promise<FinalRun[]> {
  const runs: FinalRun[] = [];
  for await (const { workflowId, name, state, finishedAt, retryOf } of client.workflows.list({ limit: PAGE })) {
    const nodes: WorkflowNode[] = [];
    for await (const node of client.workflows.nodes(workflowId, { limit: PAGE })) nodes.push(node);
    runs.push({ workflowId, name, state, finishedAt, retryOf, nodes });
  }
  return runs;
}

/** Reads all requests that applications wrote. */
export async function readRequests(client: Client): Promise<FinalRequest[]> {
  const requests: FinalRequest[] = [];
  for await (const request of client.requests.list({ limit: PAGE })) requests.push(request);
  return requests;
}

/** Reads records at these positions, without those that the server does not know. */
export async function readRecords(client: Client, positions: readonly string[]): Promise<FinalRequest[]> {
  const found = await readInParallel(positions, (position) =>
    client.requests.get(position).catch((error: MainspringError) => {
      if (error.code === "NOT_FOUND") return null;
      throw error;
    }),
  );
  return found.filter((record) => record !== null);
}

/** Whether every request that an application wrote is decided. */
export async function areRequestsDecided(client: Client): Promise<boolean> {
  for await (const _ of client.requests.list({ state: "ACCEPTED", limit: 1 })) return false;
  return true;
}

async function readEach(client: Client, ids: readonly string[]): Promise<FinalExecution[]> {
  return await readInParallel(ids, async (id) => digested(await client.getExecution(id)));
}

async function readInParallel<T>(ids: readonly string[], read: (id: string) => Promise<T>): Promise<T[]> {
  const left = [...ids];
  const found: T[] = [];
  const readers = Array.from({ length: READERS }, async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) found.push(await read(id));
  });
  await Promise.all(readers);
  return found;
}

function digested({ payload, result, ...rest }: Execution): FinalExecution {
  const key = (payload as { key?: string } | null)?.key ?? null;
  return { ...rest, key, payloadSha: digestOf(payload), resultSha: digestOf(result) };
}
