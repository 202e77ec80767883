import type { EpochMs, ExecutionId, JobId } from "../../../domain/ids.ts";
import { defaultPool, type Pool } from "../../../domain/pool.ts";
import { rankOf } from "../../../domain/rank.ts";
import { certainBlock } from "../../../ports/event-blocks.ts";
import type { DeadLetterAction } from "../../../ports/store-dead-letters.ts";
import { inboxOfReplays } from "../../../ports/told-events.ts";
import { idBytes, NO_BYTES } from "../bytes.ts";
import type { Kind, Kinds } from "../kinds.ts";
import { AT, StoredExecution, uniqueField } from "../record.ts";
import { wholeRow } from "../recurring/job-changes.ts";
import { readJobs, type StoredJob } from "../recurring/job-rows.ts";
import { laterRecord } from "../recurring/later-record.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";
import { readPools } from "../settings.ts";

/** Records of one call. */
const PER_CALL = 500;
/** In the place of the record of a replay: the letter is a run of a workflow. */
const OF_RUN = Buffer.from("W");

/** An execution that may be a dead letter, with its record. The record of a dead letter never changes. */
export interface Letter {
  row: StoredExecution;
  bytes: Buffer;
  kind: Kind;
}

/** Executions by their ids, in order; null: there is none. */
export async function readLetters(
  db: RedisConnection,
  kinds: Kinds,
  ids: readonly ExecutionId[],
): Promise<(Letter | null)[]> {
  const found: { row: StoredExecution; bytes: Buffer }[] = [];
  for (let from = 0; from < ids.length; from += PER_CALL) {
    const part = ids.slice(from, from + PER_CALL);
    const [records] = await db.call([["MGET", ...part.map((id) => db.key(executionKey(id)))]]);
    for (const [i, bytes] of (records as (Buffer | null)[]).entries())
      if (bytes !== null) found.push({ row: new StoredExecution(part[i] as ExecutionId, bytes), bytes });
  }
  const kindOf = await kinds.kindsOf(found.map(({ row }) => row.kind));
  const byId = new Map(found.map((one) => [one.row.id, { ...one, kind: kindOf.get(one.row.kind) as Kind }]));
  return ids.map((id) => byId.get(id) ?? null);
}

function executionKey(id: ExecutionId): Buffer {
  return Buffer.concat([Buffer.from("e"), idBytes(id)]);
}

export interface Settling {
  action: DeadLetterAction;
  /** Letters in ascending order of their ids. */
  letters: readonly Letter[];
  /** Ids for the replays, at least one for each letter. */
  newIds: readonly ExecutionId[];
  at: EpochMs;
  /** Whether replays leave events. */
  isTelling: boolean;
}

/** Pools by their names, and jobs by their ids. */
interface Known {
  pools: ReadonlyMap<string, Pool>;
  jobs: ReadonlyMap<JobId, StoredJob>;
}

/**
 * Arguments of the functions for letters: their number, and for each its place, replay, unique key, tenant and events, the row of its job
 * as read and afterwards, and versions.
 */
export async function letterArguments(
  { db, kinds }: { db: RedisConnection; kinds: Kinds },
  settling: Settling,
): Promise<RedisArgument[]> {
  const { letters, newIds, action } = settling;
  const [isReplay, jobIds] = [action === "REPLAY" && letters.length > 0, letters.map(({ row }) => row.jobId)];
  const pools = isReplay ? await readPools(db) : [];
  const jobs = isReplay ? await readJobs(db, kinds, [...new Set(jobIds)]) : [];
  const known: Known = {
    pools: new Map(pools.map((pool) => [pool.name, pool])),
    jobs: new Map(jobs.flatMap((job) => (job === null ? [] : [[job.jobId, job]]))),
  };
  const args = letters.flatMap((letter, i) => argumentsOf(letter, newIds[i] as ExecutionId, settling, known));
  return [`${letters.length}`, ...args];
}

function argumentsOf(
  { row, bytes, kind }: Letter,
  newId: ExecutionId,
  { action, at, isTelling }: Settling,
  { pools, jobs }: Known,
): RedisArgument[] {
  const { tenant, pool, priority } = kind;
  const place = placeOf(bytes, [idBytes(row.id), idBytes(newId), idBytes(row.jobId)]);
  if (action === "DISCARD" || row.isRun)
    return [place, action === "DISCARD" ? NO_BYTES : OF_RUN, NO_BYTES, tenant, NO_BYTES, ...rowArguments(undefined)];
  // A replay is due now, so a latest start that has passed would skip it.
  const policy = { ...row.policy(kind), startBefore: null };
  const rank = rankOf(pools.get(pool) ?? defaultPool(pool), at, priority);
  const record = laterRecord({
    ...{ id: newId, jobId: row.jobId, tenant, shard: row.shard, trigger: "RETRY", queue: "READY" },
    ...{
      rank,
      laneHash: row.lane,
      flow: bytes.readUInt32BE(AT.flow),
      kind: row.kind,
      jobVersion: row.jobVersion,
      policy,
    },
    ...{ dueAt: at, scheduledAt: at, createdAt: at, updatedAt: at, retryOf: row.id },
    ...{ concurrencyKey: row.concurrencyKey, uniqueKey: row.uniqueKey, payload: row.payload ?? 0 },
  });
  const unique = row.uniqueKey === null ? NO_BYTES : uniqueField(tenant, row.uniqueKey);
  const definition = { pool, handler: kind.handler, scheduledAt: at, policy };
  const replay = { executionId: newId, jobId: row.jobId, shard: row.shard, tenant, definition, createdAt: at };
  const [inbox] = isTelling ? inboxOfReplays([{ ...replay, jobVersion: row.jobVersion }]) : [];
  const told = inbox === undefined ? NO_BYTES : Buffer.from(certainBlock(inbox.events));
  return [place, record, unique, tenant, told, ...rowArguments(jobs.get(row.jobId))];
}

/** Row of a job as read and afterwards, and versions. A job that has only its first execution has no row of its own, or a small one. */
function rowArguments(job: StoredJob | undefined): RedisArgument[] {
  if (job === undefined || job.hasLater) return [NO_BYTES, NO_BYTES, NO_BYTES];
  const { row, versions = [] } = wholeRow(job);
  return [job.text ?? NO_BYTES, row, Buffer.concat(versions)];
}

/** Ids of a letter, its replay and its job, with the flow and the shard of the replay, as the function takes them. */
function placeOf(bytes: Buffer, ids: readonly Buffer[]): Buffer {
  return Buffer.concat([...ids, bytes.subarray(AT.flow, AT.flow + 4), bytes.subarray(AT.shard, AT.shard + 1)]);
}
