import type { EpochMs, JobId, ShardId } from "../../../domain/ids.ts";
import { firstExecutionId, shardKey, shardOf } from "../../../domain/ids.ts";
import type { JobDefinition, JobState } from "../../../domain/job.ts";
import { isRecurringJobId } from "../../../domain/recurrence.ts";
import { idBytes } from "../bytes.ts";
import type { Kind, Kinds } from "../kinds.ts";
import { StoredExecution } from "../record.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";
import { type StoredPlan, storedPlan } from "./plan-record.ts";

/** Jobs of one call. */
const PER_CALL = 250;

/** A job as its row has it, or its first execution if it has not changed since its submission. */
export interface StoredJob {
  jobId: JobId;
  tenant: string;
  shard: ShardId;
  version: number;
  definition: JobDefinition;
  /** Size of a payload that is a key of its own; null: there is no payload; bytes: the payload. */
  payload: number | Buffer | null;
  createdAt: EpochMs;
  updatedAt: EpochMs;
  /** null: the job is not deleted. */
  deletedAt: EpochMs | null;
  /** Text of the row; null: there is none. */
  text: Buffer | null;
  /** First execution of a job that runs once; null: it was removed, has an id of its own, or the job recurs. */
  first: StoredExecution | null;
  /** null: the job runs once. */
  plan: StoredPlan | null;
  /** Whether the job may have executions beside the first one. */
  hasLater: boolean;
  /** Ids of the sub-workflows of a workflow. Left out: the job is no workflow. */
  nested?: readonly JobId[] | undefined;
}

/** Part of a row that only a job has that recurs, has changed, or has further executions. */
interface Own
  extends Pick<StoredJob, "tenant" | "shard" | "version" | "createdAt" | "updatedAt" | "deletedAt" | "nested"> {
  definition: Omit<JobDefinition, "name" | "labels">;
  /** The payload in base64, the size of one that is a key of its own, or null: none. */
  payload: string | number | null;
}

interface Row extends Pick<JobDefinition, "name" | "labels"> {
  job?: Own;
}

/** Row of a job with all that it is. @param payload the payload itself if it is small, or the size of one that is a key of its own */
export function rowText(
  job: Omit<StoredJob, "jobId" | "text" | "first" | "plan" | "payload" | "hasLater">,
  payload: StoredJob["payload"],
): string {
  const { name, labels, ...definition } = job.definition;
  const { tenant, shard, version, createdAt, updatedAt, deletedAt, nested } = job;
  const own: Own = {
    ...{ tenant, shard, version, createdAt, updatedAt, deletedAt, definition, nested },
    payload: Buffer.isBuffer(payload) ? payload.toString("base64") : payload,
  };
  return JSON.stringify({ name, labels, job: own } satisfies Row);
}

export function jobKey(jobId: JobId): Buffer {
  return Buffer.concat([Buffer.from("j"), idBytes(jobId)]);
}

export function keyOf(letter: string, jobId: JobId): Buffer {
  return Buffer.concat([Buffer.from(letter), idBytes(jobId)]);
}

/** Jobs in the order of the ids, each read at one moment; null: there is none. */
export async function readJobs(
  db: RedisConnection,
  kinds: Kinds,
  ids: readonly JobId[],
): Promise<(StoredJob | null)[]> {
  const found: (StoredJob | null)[] = [];
  for (let from = 0; from < ids.length; from += PER_CALL) {
    const part = ids.slice(from, from + PER_CALL);
    const keys: RedisArgument[] = part.flatMap((id) => [db.key(jobKey(id)), db.key(partner(id))]);
    const [answer] = (await db.call([["MGET", ...keys]])) as [(Buffer | null)[]];
    const firsts = part.map((id, i) => executionOf(id, answer[2 * i + 1] as Buffer | null));
    const kindOf = await kinds.kindsOf(firsts.flatMap((first) => first?.kind ?? []));
    for (const [i, id] of part.entries()) {
      const first = firsts[i] as StoredExecution | null;
      const kind = first === null ? null : (kindOf.get(first.kind) as Kind);
      found.push(jobOf(id, answer[2 * i] as Buffer | null, answer[2 * i + 1] as Buffer | null, first, kind));
    }
  }
  return found;
}

/** Key that is read with the row of a job: its plan, or its first execution. */
function partner(id: JobId): Buffer {
  return isRecurringJobId(id) ? keyOf("p", id) : keyOf("e", firstExecutionId(id));
}

function executionOf(id: JobId, bytes: Buffer | null): StoredExecution | null {
  return bytes === null || isRecurringJobId(id) ? null : new StoredExecution(firstExecutionId(id), bytes);
}

function jobOf(
  jobId: JobId,
  text: Buffer | null,
  partnerBytes: Buffer | null,
  first: StoredExecution | null,
  kind: Kind | null,
): StoredJob | null {
  const { job, name, labels } = text === null ? NOTHING : (JSON.parse(String(text)) as Row);
  if (job !== undefined) {
    const { definition, payload: kept, ...own } = job;
    const payload = typeof kept === "string" ? Buffer.from(kept, "base64") : kept;
    const plan = partnerBytes === null || !isRecurringJobId(jobId) ? null : storedPlan(partnerBytes);
    const whole = { ...definition, name, labels };
    return { jobId, ...own, definition: whole, payload, text, first, plan, hasLater: true };
  }
  if (first === null || kind === null) return null;
  const { tenant, pool, handler, requires, priority, concurrencyLimit } = kind;
  const { scheduledAt, concurrencyKey, uniqueKey, createdAt, payload } = first;
  return {
    ...{ jobId, tenant, shard: shardOf(shardKey(tenant, concurrencyKey, jobId)), version: 1, payload, createdAt },
    ...{ updatedAt: createdAt, deletedAt: null, text, first, plan: null, hasLater: false },
    definition: {
      ...{ name, pool, handler, requires, priority, scheduledAt, recurrence: null, policy: first.policy(kind) },
      ...{ concurrencyKey, concurrencyLimit, uniqueKey, labels },
    },
  };
}

const NOTHING: Row = { name: null, labels: {} };

/** State of a job. @param hasOpen whether one of its executions is not final, which only matters for a job that runs once */
export function stateOf({ deletedAt, plan }: StoredJob, hasOpen: boolean): JobState {
  if (deletedAt !== null) return "DELETED";
  if (plan !== null) return plan.plan.state;
  return hasOpen ? "ACTIVE" : "FINISHED";
}

/** Whether each of the jobs has an execution that is not final. */
export async function haveOpen(db: RedisConnection, jobs: readonly StoredJob[]): Promise<boolean[]> {
  const asked = jobs.filter(({ first, hasLater, plan }) => plan === null && hasLater && first?.isFinal !== false);
  const counts = await db.call(asked.map(({ jobId }) => ["EXISTS", db.key(keyOf("lo", jobId))]));
  const open = new Set(asked.filter((_, i) => counts[i] === 1));
  return jobs.map((job) => job.first?.isFinal === false || open.has(job));
}

/** Whether the row of a job has all labels, each as `key` or `key=value`. @param text null: the job has no row */
export function hasLabels(text: Buffer | null, labels: readonly string[]): boolean {
  return text !== null && hasAllLabels((JSON.parse(String(text)) as Row).labels, labels);
}

export function hasAllLabels(own: JobDefinition["labels"], labels: readonly string[]): boolean {
  return labels.every((label) =>
    Object.entries(own).some(([key, value]) => label === key || label === `${key}=${value}`),
  );
}
