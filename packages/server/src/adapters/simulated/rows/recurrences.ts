import type { EpochMs, JobId, ShardId } from "../../../domain/ids.ts";
import type { OverdueJob } from "../../../ports/store-queries.ts";
import type { Recurrence } from "../../../ports/store-recurrences.ts";
import type { StoreData } from "../store-data.ts";
import type { ExecutionRow } from "./execution-row.ts";
import type { PlanRow } from "./plan-table.ts";

/** See StoreRecurrences. */

export function readDue(data: StoreData, shards: readonly ShardId[], until: EpochMs, limit: number): Recurrence[] {
  return collected(data, shards, limit, (visit) => data.plans.due(until, visit));
}

export function readAwaiting(
  data: StoreData,
  shards: readonly ShardId[],
  after: JobId | null,
  limit: number,
): Recurrence[] {
  return collected(data, shards, limit, (visit) => data.plans.ascend(after, (row) => !isAwaiting(row) || visit(row)));
}

export function readOtherZones(
  data: StoreData,
  shards: readonly ShardId[],
  tzdata: string,
  after: JobId | null,
  limit: number,
): Recurrence[] {
  const isOther = ({ plan }: PlanRow) => plan.tzdata !== tzdata && (plan.state === "ACTIVE" || plan.state === "PAUSED");
  return collected(data, shards, limit, (visit) => data.plans.ascend(after, (row) => !isOther(row) || visit(row)));
}

export function load(data: StoreData, jobIds: readonly JobId[]): Recurrence[] {
  return jobIds.flatMap((jobId) => {
    const row = data.plans.get(jobId);
    return row === undefined ? [] : [recurrenceOf(data, row)];
  });
}

export function firedInstants(data: StoreData, jobId: JobId, since: EpochMs, until: EpochMs): EpochMs[] {
  const instants = plannedOf(data, jobId).map(({ job }) => job.definition.scheduledAt);
  return instants.filter((at) => at >= since && at < until).sort((a, b) => a - b);
}

/** Executions that stand for a planned instant. */
export function plannedOf(data: StoreData, jobId: JobId): ExecutionRow[] {
  const rows = data.executions.ofJob(jobId).map((id) => data.executions.get(id) as ExecutionRow);
  return rows.filter(({ trigger }) => trigger === "SCHEDULE" || trigger === "BACKFILL");
}

/** See StoreQueries.overdue. */
export function overdue(data: StoreData, tenant: string | null, now: EpochMs, limit: number): OverdueJob[] {
  const found: OverdueJob[] = [];
  data.plans.due(now, ({ jobId, plan: { nextFireAt } }) => {
    const job = data.jobs.get(jobId)?.job;
    const { name, recurrence } = job?.definition ?? {};
    const isOwn = tenant === null || job?.tenant === tenant;
    const isBeyond = isOwn && nextFireAt !== null && recurrence != null && nextFireAt + recurrence.misfireGraceMs < now;
    if (isBeyond) found.push({ jobId, name: name ?? null, nextFireAt });
    return found.length < limit;
  });
  return found;
}

function isAwaiting({ plan }: PlanRow): boolean {
  const { state, nextFireAt, bufferedAt, catchUps } = plan;
  return bufferedAt !== null || catchUps.length > 0 || (state === "ACTIVE" && nextFireAt === null);
}

function collected(
  data: StoreData,
  shards: readonly ShardId[],
  limit: number,
  read: (visit: (row: PlanRow) => boolean) => void,
): Recurrence[] {
  const own = new Set(shards);
  const found: Recurrence[] = [];
  read((row) => {
    if (own.has(row.shard)) found.push(recurrenceOf(data, row));
    return found.length < limit;
  });
  return found;
}

export function recurrenceOf(data: StoreData, { jobId, shard, revision, plan }: PlanRow): Recurrence {
  const row = data.jobs.get(jobId);
  if (row === undefined) throw new Error(`the plan of ${jobId} has no job`);
  const { job, version } = row;
  const { tenant, createdAt, definition, payload } = job;
  const ids = [...(plan.previous === null ? [] : [plan.previous]), ...plan.catchUps.flatMap(({ open }) => open)];
  const open = [...new Set(ids)].filter((id) => (data.executions.get(id)?.queue ?? "NONE") !== "NONE");
  const payloadBytes = payload?.length ?? 0;
  return { jobId, shard, tenant, createdAt, version, definition, payloadBytes, revision, plan: { ...plan }, open };
}
