import type { ExecutionId, Incarnation } from "../../../domain/ids.ts";
import { type KeptNodes, resultsOf } from "../../../domain/workflow/kept-nodes.ts";
import type { NewJob } from "../../../ports/store.ts";
import type { NewRetry, RetryOutcome } from "../../../ports/store-runs.ts";
import { inboxOfRetry } from "../../../ports/told-events.ts";
import type { StoreData } from "../store-data.ts";
import { newRow } from "./execution-row.ts";
import { nodeRow, putRun, runRow } from "./insert-workflow.ts";
import { known, openOf, settleByRetry } from "./job-changes.ts";
import { answeredBefore } from "./submit.ts";

/** See StoreRuns.retry. */
export function retryRun(data: StoreData, by: Incarnation, asked: NewRetry): RetryOutcome {
  const answered = answeredBefore(data, asked);
  if (answered?.kind === "KEY_REUSED") return { kind: "KEY_REUSED" };
  if (answered?.kind === "ACCEPTED")
    return { kind: "ACCEPTED", executionId: answered.jobs[0]?.executionId as ExecutionId, replayed: true };
  const refused = refusal(data, asked);
  if (refused !== null) return refused;
  insert(data, by, asked);
  const { idempotency, jobId, executionId } = asked;
  if (idempotency !== null) {
    const { tenant, key, requestHash } = idempotency;
    const jobs = [{ jobId, executionId, deduplicated: false }];
    data.idempotencyKeys.set(tenant, key, { requestHash, jobs, createdAt: data.now() });
  }
  return { kind: "ACCEPTED", executionId, replayed: false };
}

function refusal(data: StoreData, asked: NewRetry): RetryOutcome | null {
  const { jobId, retryOf, definition } = asked;
  const job = known(data, asked);
  const isKnown = data.executions.ofJob(jobId).includes(retryOf);
  if (job === null || !isKnown || !data.runs.isWorkflow(jobId)) return { kind: "NOT_FOUND" };
  if (job.deletedAt !== null) return { kind: "DELETED" };
  const isRecurring = job.job.definition.recurrence !== null;
  const open = openOf(data, jobId).find((id) => !isRecurring || id === retryOf);
  if (open !== undefined) return { kind: "NOT_FINAL", executionId: open };
  for (const kept of asked.kept) if (!hasResults(data, kept)) return { kind: "RESULTS_GONE", run: kept.run };
  const holder = definition.uniqueKey === null ? null : data.uniqueKeys.holderOf(asked);
  return holder === null ? null : { kind: "KEY_HELD", executionId: holder.executionId };
}

function hasResults(data: StoreData, kept: KeptNodes): boolean {
  const { nodes, maps, items } = resultsOf(kept);
  const rows = data.executions.ofJob(kept.run).map((id) => data.executions.get(id));
  const done = rows.flatMap((row) => (row?.state === "SUCCEEDED" ? [row] : []));
  const own = new Set(done.flatMap(({ node, item }) => (item === null ? [node] : [])));
  const ofMaps = done.filter(({ node, item }) => item !== null && maps.includes(node ?? -1));
  return nodes.every((node) => own.has(node)) && ofMaps.length === items;
}

function insert(data: StoreData, by: Incarnation, asked: NewRetry): void {
  const { queue, deadline, roots, retryOf, jobVersion, kept, outcome, mapCounts, parts, ...others } = asked;
  const { idempotency: _, ...rest } = others;
  const job: NewJob = { ...rest, queue: "READY" };
  settleByRetry(data, retryOf);
  if (job.definition.uniqueKey !== null) data.uniqueKeys.take(job);
  const run = putRun(data, job, retryOf, kept, outcome, mapCounts);
  for (const part of data.runs.partsOf(retryOf)) {
    if (parts.includes(part.first)) data.runs.addPart({ ...part, run: asked.executionId });
  }
  const row = runRow(newRow(job, { trigger: "RETRY", retryOf, jobVersion }), queue, deadline);
  const nodes = roots.map((root) => nodeRow(data, root, { updatedAt: root.createdAt, commitNumber: 0 }, row));
  const rows = [row, ...nodes];
  for (const added of rows) data.executions.insert(added);
  data.leave(() => [inboxOfRetry(asked)]);
  data.tell({ kind: "RUN_RETRIED", at: data.now(), by, run, rows });
}
