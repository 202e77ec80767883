import { RUN_NODE } from "../../../domain/execution.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { invariant } from "../../../domain/invariant.ts";
import { type KeptNodes, resultsOf } from "../../../domain/workflow/kept-nodes.ts";
import type { MapCount } from "../../../domain/workflow/map-counts.ts";
import type { ChunkLimit } from "../../../ports/chunks.ts";
import type { NewRetry, RetryOutcome, RunOutcome } from "../../../ports/store-runs.ts";
import { inboxOfRetry } from "../../../ports/told-events.ts";
import { int4s, uuids } from "../connection/arrays.ts";
import { QUEUE_CODES, RUN_MODE_CODES, STATE_CODES, TRIGGER_CODES } from "../connection/codes.ts";
import type { Session } from "../connection/connections.ts";
import type { EventInbox } from "../events/inbox.ts";
import { isLater } from "../executions/of-job.ts";
import { policyText, requiresText } from "../jobs/job-columns.ts";
import { LOCK_EXECUTION, SETTLE } from "../jobs/job-run.ts";
import { lockJob } from "../jobs/locked-job.ts";
import { claimIdempotencyKeys } from "../submit/idempotency-keys.ts";
import { claimUniqueKeys } from "../submit/unique-keys.ts";
import { rootStatements } from "./insert-workflows.ts";
import { keepParts } from "./parts.ts";

const INSERT = `
  WITH r AS (
    INSERT INTO workflow_runs (run, shard, revision, mode, retry_of, bases, kept, outcome, map_counts)
    VALUES ($1, $9, 1, $24, $20, $21, $22, $25, $26)
  )
  INSERT INTO executions (id, job_id, lane, rank, due_at, scheduled_at, created_at, updated_at, started_at,
    concurrency_limit, payload_bytes, shard, state, queue, priority, trigger, has_unique_key, tenant, pool, handler,
    requires, policy, concurrency_key, job_version, retry_of, node)
  VALUES ($1, $2, $3, $4, coalesce($5::int8, $6), $6, $7, $7, CASE WHEN $5::int8 IS NOT NULL THEN $7::int8 END, $8, $10, $9,
    CASE WHEN $5::int8 IS NULL THEN ${STATE_CODES.PENDING} ELSE ${STATE_CODES.RUNNING} END, $23::int2, $11,
    ${TRIGGER_CODES.RETRY}, $12, $13, $14, $15, $16, $17, $18, $19, $20, ${RUN_NODE})`;

/** Numbers of nodes, and of items of maps, whose executions have SUCCEEDED in a run. */
export const COUNT_RESULTS = `
  SELECT count(*) FILTER (WHERE e.item IS NULL AND e.node = ANY($2::int4[]))::int4,
    count(*) FILTER (WHERE e.item IS NOT NULL AND e.node = ANY($3::int4[]))::int4
  FROM executions e
  WHERE e.job_id = $1 AND ${isLater("e")} AND e.node = ANY($2::int4[] || $3::int4[]) AND e.state = ${STATE_CODES.SUCCEEDED}`;

const RELEASE_KEY = "DELETE FROM idempotency_keys WHERE tenant = $1 AND key = $2";

/**
 * See StoreRuns.retry; runs within a transaction, and locks in the order of `jobs/job-run.ts`, after the idempotency key.
 * @param limit largest content of one statement
 */
export async function retryRun(
  session: Session,
  asked: NewRetry,
  limit: ChunkLimit,
  now: number,
  inbox: EventInbox,
): Promise<RetryOutcome> {
  const { idempotency } = asked;
  const claim = { idempotency, jobs: [asked] };
  const known = (await claimIdempotencyKeys(session, [claim], now)).get(claim);
  if (known?.kind === "KEY_REUSED") return { kind: "KEY_REUSED" };
  if (known !== undefined) {
    const executionId = known.kind === "ACCEPTED" ? known.jobs[0]?.executionId : null;
    invariant(typeof executionId === "string", "the answer to a retry names its run");
    return { kind: "ACCEPTED", executionId, replayed: true };
  }
  const refused = await refusal(session, asked);
  if (refused === null) {
    await insert(session, asked, limit);
    await inbox.leave(session, () => [inboxOfRetry(asked)]);
    return { kind: "ACCEPTED", executionId: asked.executionId, replayed: false };
  }
  // A refused request may be repeated with the same key.
  if (idempotency !== null) await session.run({ text: RELEASE_KEY, values: [idempotency.tenant, idempotency.key] });
  return refused;
}

/** @returns reason why the run must not be inserted; null: it may be, and has its unique key */
async function refusal(session: Session, asked: NewRetry): Promise<RetryOutcome | null> {
  const { tenant, jobId, retryOf } = asked;
  const isKnown = (await session.run({ text: LOCK_EXECUTION, values: [retryOf, jobId] })).length > 0;
  const job = await lockJob(session, tenant, jobId);
  if (job === null || !isKnown || !job.isWorkflow) return { kind: "NOT_FOUND" };
  if (job.state === "DELETED") return { kind: "DELETED" };
  const open = job.definition.recurrence === null ? job.open[0] : job.open.find((id) => id === retryOf);
  if (open !== undefined) return { kind: "NOT_FINAL", executionId: open };
  for (const kept of asked.kept) if (!(await hasResults(session, kept))) return { kind: "RESULTS_GONE", run: kept.run };
  const [holder] = (await claimUniqueKeys(session, [asked])).values();
  return holder === undefined ? null : { kind: "KEY_HELD", executionId: holder.executionId };
}

async function hasResults(session: Session, kept: KeptNodes): Promise<boolean> {
  const { nodes, maps, items } = resultsOf(kept);
  const values = [kept.run, int4s(nodes, (node) => node), int4s(maps, (node) => node)];
  const [row] = await session.run({ text: COUNT_RESULTS, values });
  return row?.[0] === nodes.length && row[1] === items;
}

async function insert(session: Session, asked: NewRetry, limit: ChunkLimit): Promise<void> {
  await session.run({ text: SETTLE, values: [asked.retryOf] });
  await session.run({ text: INSERT, values: valuesOf(asked) });
  await keepParts(session, asked);
  for (const statement of rootStatements(asked.roots, limit)) await session.run(statement());
}

function valuesOf(run: NewRetry): unknown[] {
  const { pool, handler, requires, policy, priority, scheduledAt } = run.definition;
  const { concurrencyKey, concurrencyLimit, uniqueKey } = run.definition;
  return [
    ...[run.executionId, run.jobId, run.laneHash, run.rank, run.deadline, scheduledAt, run.createdAt],
    ...[concurrencyLimit, run.shard, run.payload?.length ?? 0, priority, uniqueKey !== null, run.tenant],
    ...[pool, handler, requiresText(requires), policyText(policy), concurrencyKey, run.jobVersion, run.retryOf],
    ...[
      uuids(run.kept, (kept) => kept.run),
      keptText(run.kept),
      QUEUE_CODES[run.queue],
      RUN_MODE_CODES[run.outcome === undefined ? "RUNNING" : "CANCELLING"],
      run.outcome === undefined ? null : JSON.stringify(run.outcome),
      run.mapCounts.length === 0 ? null : mapCountsText(run.mapCounts),
    ],
  ];
}

/** SQL expression: kept nodes of a run `w` as JSON; NULL: the run is no retry. */
export const KEPT = "CASE WHEN w.bases IS NOT NULL THEN json_build_array(w.bases, w.kept::json)::text END";

/** Value of the column `kept`, beside `bases`. */
export function keptText(kept: readonly KeptNodes[]): string {
  return JSON.stringify(
    kept.map(({ nodes, items = [] }) => [...nodes, ...items.map(([node, of]) => [node, null, of])]),
  );
}

/** Kept nodes from the value of `KEPT`. */
export function keptFrom(text: string | null): KeptNodes[] {
  if (text === null) return [];
  const [bases, parts] = JSON.parse(text) as [ExecutionId[], KeptPart[][]];
  return bases.map((run, place) => {
    const own = parts[place] ?? [];
    const nodes = own.flatMap(([node, branch, of]) => (of === undefined ? [[node, branch] as const] : []));
    const items = own.flatMap(([node, , of]) => (of === undefined ? [] : [[node, of] as const]));
    return { run, nodes, ...(items.length > 0 && { items }) };
  });
}

/** A kept node, or kept items of a map. */
type KeptPart = [node: number, branch: string | null, items?: string];

export function mapCountsText(counts: readonly MapCount[]): string {
  return JSON.stringify(counts.map(({ node, items }) => [node, items]));
}

export function mapCountsFrom(text: string | null): MapCount[] {
  const counts = text === null ? [] : (JSON.parse(text) as [number, MapCount["items"]][]);
  return counts.map(([node, items]) => ({ node, items }));
}

/** Outcome of a run from its column. */
export function outcomeFrom(text: string | null): RunOutcome | null {
  return text === null ? null : (JSON.parse(text) as RunOutcome);
}
