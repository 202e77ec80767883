import { RUN_NODE } from "../../../domain/execution.ts";
import type { EpochMs, ExecutionId, JobId } from "../../../domain/ids.ts";
import type { KeptNodes } from "../../../domain/workflow/kept-nodes.ts";
import type { MapCount } from "../../../domain/workflow/map-counts.ts";
import type { NewJob } from "../../../ports/store.ts";
import type { NewNode, NewRecurringWorkflow, NewWorkflow, RunOutcome } from "../../../ports/store-runs.ts";
import type { StoreData } from "../store-data.ts";
import { type ExecutionRow, newRow } from "./execution-row.ts";
import type { GraphRow, RunRow } from "./run-table.ts";

/** Inserts what the runs of a workflow share. */
export function insertGraph(data: StoreData, asked: NewWorkflow | NewRecurringWorkflow): void {
  const { jobId, nodes, graph, definitions, payloads, output, nested = [] } = asked;
  data.runs.putGraph(jobId, 1, { nodes, graph, definitions, payloads: [...payloads], output, ofJob: null });
  for (const { id, payloads, ...rest } of nested)
    data.runs.putGraph(id, 1, { ...rest, payloads: [...payloads], ofJob: jobId });
}

/** Inserts the job and the run of a workflow. @returns rows of the run and of its first nodes */
export function insertWorkflow(data: StoreData, asked: NewWorkflow): ExecutionRow[] {
  const {
    queue,
    deadline,
    nodes: _nodes,
    graph: _graph,
    definitions: _definitions,
    payloads: _payloads,
    output: _,
    nested: _nested,
    roots,
    ...rest
  } = asked;
  const job: NewJob = { ...rest, queue: "READY" };
  data.jobs.insert(job);
  if (job.definition.uniqueKey !== null) data.uniqueKeys.take(job);
  putRun(data, job, null, []);
  const run = runRow(newRow(job), queue, deadline);
  const rows = [run, ...roots.map((root) => nodeRow(data, root, { updatedAt: root.createdAt, commitNumber: 0 }, run))];
  for (const row of rows) data.executions.insert(row);
  return rows;
}

/** Inserts the row of a run beside the row of its execution. */
export function putRun(
  data: StoreData,
  { executionId: run, shard }: Pick<NewJob, "executionId" | "shard">,
  retryOf: ExecutionId | null,
  kept: readonly KeptNodes[],
  outcome: RunOutcome | null = null,
  mapCounts: readonly MapCount[] = [],
  workflow: JobId | null = null,
): RunRow {
  const mode = outcome === null ? "RUNNING" : "CANCELLING";
  const row: RunRow = { run, shard, revision: 1, mode, outcome, paused: false, retryOf, kept, mapCounts, workflow };
  data.runs.put(row);
  return row;
}

/** Inserts the row of a sub-workflow's run. @param execution row of its node */
export function putChildRun(data: StoreData, { id, job }: ExecutionRow, workflow: JobId): void {
  putRun(data, { executionId: id, shard: job.shard }, null, [], null, [], workflow);
}

/** Graph of a run, which all runs of its workflow share; undefined: the execution is no run. */
export function graphOfRun(data: StoreData, { id, job, jobVersion }: ExecutionRow): GraphRow | undefined {
  return data.runs.graphOf(data.runs.get(id)?.workflow ?? job.jobId, jobVersion);
}

/** The execution of a run. @param deadline null: the run does not start at once */
export function runRow(row: ExecutionRow, queue: NewWorkflow["queue"], deadline: EpochMs | null): ExecutionRow {
  const { createdAt: startedAt } = row.job;
  const begun = deadline === null ? {} : { state: "RUNNING" as const, dueAt: deadline, startedAt };
  return { ...row, queue, node: RUN_NODE, ...begun };
}

/** @param run row of the run */
export function nodeRow(
  data: StoreData,
  { row, laneHash, createdAt }: NewNode,
  written: Pick<ExecutionRow, "updatedAt" | "commitNumber">,
  run: ExecutionRow | undefined = data.executions.get(row.jobId),
): ExecutionRow {
  const { pool, handler, requires, priority, scheduledAt, policy, concurrencyKey, concurrencyLimit } = row;
  const graph = run === undefined ? undefined : graphOfRun(data, run);
  const ofParts = data.runs.partsOf(row.jobId).flatMap((part) => part.payloads);
  const payloads = [...(graph?.payloads ?? []), ...ofParts];
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
    payload: payloads.find(({ node }) => node === row.node)?.payload ?? null,
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
