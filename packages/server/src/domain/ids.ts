/** Identities and how an execution finds its shard. */

/** UUIDv7, lower case, with hyphens. */
export type ExecutionId = string;
/** UUIDv7, lower case, with hyphens. */
export type JobId = string;
/** Id that the worker's process chooses and keeps over reconnects; 1 to 128 characters. */
export type WorkerId = string;
/** Id of one run of a server process: a UUIDv7 made at its start. */
export type Incarnation = string;
/** Number of a shard, 0 to SHARD_COUNT - 1. */
export type ShardId = number;
/** Number of a shard in the store that grows with every takeover. */
export type Epoch = number;
/** Milliseconds since 1970-01-01T00:00:00Z. */
export type EpochMs = number;

export const SHARD_COUNT = 64;
/** The tenant of everything on a server without tenants. */
export const DEFAULT_TENANT = "default";

/** Index of the first digit of an id's last group. */
const LAST_GROUP = 24;

/**
 * Id of the first execution of a job that runs once: the job's id with one digit changed, the first of the last group. So
 * either id leads to the other, and an index of a job's executions need not contain the first one. All further executions
 * of jobs, and those of recurring jobs, have ids of their own.
 */
export function firstExecutionId(jobId: JobId): ExecutionId {
  return withOtherDigit(jobId);
}

/** Job whose first execution has this id, if it is the id of a first execution. */
export function jobOfFirstExecution(executionId: ExecutionId): JobId {
  return withOtherDigit(executionId);
}

function withOtherDigit(id: string): string {
  const digit = (Number.parseInt(id.charAt(LAST_GROUP), 16) ^ 8).toString(16);
  return `${id.slice(0, LAST_GROUP)}${digit}${id.slice(LAST_GROUP + 1)}`;
}

/** Text that identifies an attempt. The execution alone does not, because a worker may hold several of its attempts. */
export function attemptKey(executionId: ExecutionId, attempt: number): string {
  return `${executionId}:${attempt}`;
}

/** Key that places an execution on a shard: its concurrency key, so that one owner counts it, else its job. */
export function shardKey(tenant: string, concurrencyKey: string | null, jobId: JobId): string {
  return concurrencyKey === null ? jobId : `${tenant}\u0000${concurrencyKey}`;
}

/** Seed of the hash that decides the shard. */
export const SHARD_SEED = 0x811c9dc5;

export function shardOf(key: string): ShardId {
  return fnv1a(key, SHARD_SEED) % SHARD_COUNT;
}

/** FNV-1a over UTF-16 code units with a final mix. The function must never change, because stored rows depend on it. */
export function fnv1a(text: string, seed: number): number {
  return finishedHash(continuedHash(text, seed));
}

/** State of the hash after more text. */
export function continuedHash(text: string, state: number): number {
  let hash = state;
  for (let i = 0; i < text.length; i++) hash = hashStep(hash, text.charCodeAt(i));
  return hash;
}

/** State of the hash after one more UTF-16 code unit. */
export function hashStep(state: number, code: number): number {
  return Math.imul(state ^ code, 0x01000193);
}

/** Hash of all text that led to the state. */
export function finishedHash(state: number): number {
  let hash = state ^ (state >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  return hash >>> 0;
}
