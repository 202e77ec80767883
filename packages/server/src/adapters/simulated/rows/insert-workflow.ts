import { RUN_NODE } from "../../../domain/execution.ts";
import type { NewJob } from "../../../ports/store.ts";
import type { NewNode, NewWorkflow } from "../../../ports/store-runs.ts";
import type { StoreData } from "../store-data.ts";
import { type ExecutionRow, newRow } from "./execution-row.ts";

/** Inserts a workflow with its run. @returns rows of the run and of its first nodes */
export function insertWorkflow(data: StoreData, asked: NewWorkflow): ExecutionRow[] {
  const { queue, deadline, nodes, graph, definitions, payloads, roots, ...rest } = asked;
  const job: NewJob = { ...rest, queue: "READY" };
  data.jobs.insert(job);
  if (job.definition.uniqueKey !== null) data.uniqueKeys.take(job);
  data.runs.putGraph(job.jobId, 1, { nodes, graph, definitions, payloads: [...payloads] });
  data.runs.put({ run: job.executionId, shard: job.shard, revision: 1, mode: "RUNNING", paused: false });
  const run: ExecutionRow = {
    ...newRow(job),
    ...{ state: "RUNNING", queue, dueAt: deadline, startedAt: job.createdAt, node: RUN_NODE },
  };
  const rows = [run, ...roots.map((root) => nodeRow(data, root, { updatedAt: root.createdAt, commitNumber: 0 }, run))];
  for (const row of rows) data.executions.insert(row);
  return rows;
}

/** @param run row of the run */
export function nodeRow(
  data: StoreData,
  { row, laneHash, createdAt }: NewNode,
  written: Pick<ExecutionRow, "updatedAt" | "commitNumber">,
  run: ExecutionRow | undefined = data.executions.get(row.jobId),
): ExecutionRow {
  const { pool, handler, requires, priority, scheduledAt, policy, concurrencyKey, concurrencyLimit } = row;
  const graph = run === undefined ? undefined : data.runs.graphOf(run.job.jobId, run.jobVersion);
  const job: NewJob = {
    ...{
      jobId: row.jobId,
      executionId: row.id,
      tenant: row.tenant,
      shard: row.shard,
      rank: row.rank,
      laneHash,
      createdAt,
    },
    definition: {
      ...{ name: null, pool, handler, requires, priority, scheduledAt, recurrence: null, policy, concurrencyKey },
      ...{ concurrencyLimit, uniqueKey: null, labels: {} },
    },
    queue: row.queue === "WAITING" ? "WAITING" : "READY",
    payload: graph?.payloads.find(({ node }) => node === row.node)?.payload ?? null,
  };
  const origin = { trigger: "NODE", retryOf: null, jobVersion: row.jobVersion, dueAt: row.dueAt } as const;
  return {
    ...newRow(job, origin),
    ...written,
    node: row.node ?? null,
    item: row.item ?? null,
    steps: row.steps ?? null,
  };
}
