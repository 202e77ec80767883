import type { ShardId } from "../../../domain/ids.ts";
import type { Skip } from "../../../domain/recurrence.ts";
import type { ShardCommit } from "../../../ports/store.ts";
import type { CreatedOccurrence, PlanChange } from "../../../ports/store-recurrences.ts";
import { float8s, int2s, int4s, int8s, texts, uuids } from "../connection/arrays.ts";
import {
  PLAN_STATE_CODES,
  QUEUE_CODES,
  RUN_MODE_CODES,
  SKIP_REASON_CODES,
  STATE_CODES,
  TRIGGER_CODES,
} from "../connection/codes.ts";
import { policyText, requiresText } from "../jobs/job-columns.ts";
import { PLANNED_NODES } from "../workflows/running.ts";
import { catchUpsText } from "./plan-rows.ts";

/** Parts of the commit statement for ticks in which plans change; see commit-statement.ts. */

/**
 * Without `IS TRUE`, the planner makes this a join, which without hash joins (connections.ts) compares each row with
 * each. With it, the planner uses a hash lookup.
 */
const isOfPlanned = (jobId: string) => `(${jobId} IN (SELECT job_id FROM planned)) IS TRUE`;

/**
 * Writes plans and the outcomes of their instants. The statement claims unique keys after it has released those of this
 * commit, because a job's next execution is often created when the previous one has ended. An execution that exists
 * already claims nothing, because nothing would release the key.
 * @param holds SQL condition that the fence of the shard in a column holds
 */
export const planned = (holds: (column: string) => string, { running = false } = {}) => `, plan AS MATERIALIZED (
  SELECT unnest($47::int2[]) AS shard, unnest($48::uuid[]) AS job_id, unnest($49::int4[]) AS was_revision,
    unnest($50::int4[]) AS revision, unnest($51::int4[]) AS version, unnest($52::int2[]) AS state,
    unnest($53::int8[]) AS next_fire_at, unnest($54::int4[]) AS fired, unnest($55::uuid[]) AS previous,
    unnest($56::int8[]) AS buffered_at, unnest($57::text[]) AS catch_ups, unnest($58::text[]) AS tzdata
), planned AS (
  UPDATE plans p SET revision = n.revision, version = n.version, state = n.state, next_fire_at = n.next_fire_at,
    fired = n.fired, previous = n.previous, buffered_at = n.buffered_at, catch_ups = n.catch_ups, tzdata = n.tzdata
  FROM plan n WHERE p.job_id = n.job_id AND p.revision = n.was_revision AND ${holds("n.shard")}
  RETURNING p.job_id
), birth AS MATERIALIZED (
  SELECT * FROM (
    SELECT unnest($59::uuid[]) AS id, unnest($60::uuid[]) AS job_id, unnest($61::int8[]) AS lane,
      unnest($62::float8[]) AS rank, unnest($63::int8[]) AS due_at, unnest($64::int8[]) AS scheduled_at,
      unnest($65::int8[]) AS created_at, unnest($66::int4[]) AS concurrency_limit, unnest($67::int4[]) AS payload_bytes,
      unnest($68::int2[]) AS shard, unnest($69::int2[]) AS priority, unnest($70::int2[]) AS trigger,
      unnest($71::text[]) AS tenant, unnest($72::text[]) AS pool, unnest($73::text[]) AS handler,
      unnest($74::text[]) AS requires, unnest($75::text[]) AS policy, unnest($76::text[]) AS concurrency_key,
      unnest($77::int4[]) AS job_version, unnest($78::text[]) AS unique_key${running ? NODES : ""}
  ) b WHERE ${isOfPlanned("b.job_id")}
), claimed AS (
  INSERT INTO unique_keys (tenant, key, execution_id, job_id)
  SELECT b.tenant, b.unique_key, b.id, b.job_id FROM birth b
  WHERE b.unique_key IS NOT NULL AND (SELECT count(*) FROM released) >= 0
    AND NOT EXISTS (SELECT FROM executions e WHERE e.id = b.id)
  ORDER BY b.tenant COLLATE "C", b.unique_key COLLATE "C"
  ON CONFLICT DO NOTHING RETURNING execution_id
), judged AS MATERIALIZED (
  SELECT b.*, b.unique_key IS NOT NULL AND (b.id IN (SELECT execution_id FROM claimed)) IS NOT TRUE AS is_held FROM birth b
), born AS (
  INSERT INTO executions (id, job_id, lane, rank, due_at, scheduled_at, created_at, updated_at, concurrency_limit,
    payload_bytes, shard, priority, trigger, tenant, pool, handler, requires, policy, concurrency_key, job_version,
    state, queue, has_unique_key, reason, finished_at${running ? ", node" : ""})
  SELECT id, job_id, lane, rank, due_at, scheduled_at, created_at, $24::int8, concurrency_limit,
    payload_bytes, shard, priority, trigger, tenant, pool, handler, requires, policy, concurrency_key, job_version,
    CASE WHEN is_held THEN ${STATE_CODES.SKIPPED} ELSE ${STATE_CODES.PENDING} END,
    CASE WHEN is_held THEN ${QUEUE_CODES.NONE} ELSE ${QUEUE_CODES.READY} END,
    unique_key IS NOT NULL AND NOT is_held, CASE WHEN is_held THEN 'UNIQUE_KEY_HELD' END,
    CASE WHEN is_held THEN $24::int8 END${running ? ", node" : ""}
  FROM judged
  ON CONFLICT DO NOTHING RETURNING id, state
), skipped AS (
  INSERT INTO skips (job_id, from_at, to_at, count, reason)
  SELECT * FROM (SELECT unnest($79::uuid[]) AS job_id, unnest($80::int8[]), unnest($81::int8[]), unnest($82::int4[]),
    unnest($83::int2[])) s
  WHERE ${isOfPlanned("s.job_id")}
  ON CONFLICT DO NOTHING
)${running ? BORN_RUNS : ""}`;

/** Number of the node of each occurrence: that of a run, or NULL for the execution of a job. */
const NODES = `, unnest($${PLANNED_NODES}::int4[]) AS node`;

/** Writes what belongs to the runs of workflows among the occurrences. They wait for their owner to open them. */
const BORN_RUNS = `, born_run AS (
  INSERT INTO workflow_runs (run, shard, revision, mode)
  SELECT id, shard, 1, ${RUN_MODE_CODES.RUNNING} FROM judged WHERE node IS NOT NULL ON CONFLICT DO NOTHING
)`;

/** Plans that were not as expected, and occurrences that were not created. */
export const plannedAnswer = (holds: (column: string) => string) => `,
  CASE WHEN (SELECT count(*) FROM planned) < (SELECT count(*) FROM plan n WHERE ${holds("n.shard")}) THEN
    ARRAY(SELECT n.job_id FROM plan n WHERE ${holds("n.shard")} EXCEPT SELECT p.job_id FROM planned p)
  END,
  CASE WHEN (SELECT count(*) FROM born WHERE state = ${STATE_CODES.PENDING}) < (SELECT count(*) FROM birth) THEN
    ARRAY(SELECT id FROM birth EXCEPT SELECT id FROM born WHERE state = ${STATE_CODES.PENDING})
  END`;

interface OfShard extends PlanChange {
  shard: ShardId;
}

interface OfJob extends Skip {
  jobId: string;
}

/** Value of `PLANNED_NODES`. */
export function plannedNodes(batch: readonly ShardCommit[]): unknown {
  return int4s(createdIn(batch), ({ row }) => row.node ?? null);
}

/** Occurrences in the order of their ids, so that adjacent rows are adjacent in every index. */
function createdIn(batch: readonly ShardCommit[]): CreatedOccurrence[] {
  const created = batch.flatMap(({ plans }) => plans.flatMap((change) => change.created));
  return created.sort((a, b) => (a.row.id < b.row.id ? -1 : 1));
}

export function plannedValues(batch: readonly ShardCommit[]): unknown[] {
  const plans: OfShard[] = [];
  const skips: OfJob[] = [];
  for (const { shard, plans: own } of batch) {
    for (const change of own) {
      plans.push({ ...change, shard });
      for (const skip of change.skips) skips.push({ ...skip, jobId: change.jobId });
    }
  }
  return [...planValues(plans), ...createdValues(createdIn(batch)), ...skipValues(skips)];
}

function planValues(plans: readonly OfShard[]): unknown[] {
  return [
    int2s(plans, (p) => p.shard),
    uuids(plans, (p) => p.jobId),
    int4s(plans, (p) => p.wasRevision),
    int4s(plans, (p) => p.revision),
    int4s(plans, (p) => p.plan.version),
    int2s(plans, (p) => PLAN_STATE_CODES[p.plan.state]),
    int8s(plans, (p) => p.plan.nextFireAt),
    int4s(plans, (p) => p.plan.fired),
    uuids(plans, (p) => p.plan.previous),
    int8s(plans, (p) => p.plan.bufferedAt),
    texts(plans, (p) => catchUpsText(p.plan.catchUps)),
    texts(plans, (p) => p.plan.tzdata),
  ];
}

function createdValues(created: readonly CreatedOccurrence[]): unknown[] {
  return [
    uuids(created, (b) => b.row.id),
    uuids(created, (b) => b.row.jobId),
    int8s(created, (b) => b.laneHash),
    float8s(created, (b) => b.row.rank),
    int8s(created, (b) => b.row.dueAt),
    int8s(created, (b) => b.row.scheduledAt),
    int8s(created, (b) => b.createdAt),
    int4s(created, (b) => b.row.concurrencyLimit),
    int4s(created, (b) => b.row.payloadBytes),
    int2s(created, (b) => b.row.shard),
    int2s(created, (b) => b.row.priority),
    int2s(created, (b) => TRIGGER_CODES[b.trigger]),
    texts(created, (b) => b.row.tenant),
    texts(created, (b) => b.row.pool),
    texts(created, (b) => b.row.handler),
    texts(created, (b) => requiresText(b.row.requires)),
    texts(created, (b) => policyText(b.row.policy)),
    texts(created, (b) => b.row.concurrencyKey),
    int4s(created, (b) => b.row.jobVersion),
    texts(created, (b) => b.uniqueKey),
  ];
}

function skipValues(skips: readonly OfJob[]): unknown[] {
  return [
    uuids(skips, (s) => s.jobId),
    int8s(skips, (s) => s.from),
    int8s(skips, (s) => s.to),
    int4s(skips, (s) => s.count),
    int2s(skips, (s) => SKIP_REASON_CODES[s.reason]),
  ];
}
