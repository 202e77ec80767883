/** Identities and how an execution finds its shard. */

/** UUIDv7, lower case, with hyphens. */
export type ExecutionId = string;
/** UUIDv7, lower case, with hyphens. */
export type JobId = string;
/** Chosen by the worker's process, kept over reconnects; 1 to 128 characters. */
export type WorkerId = string;
/** One life of one server process: a UUIDv7 made at its start. */
export type Incarnation = string;
/** 0 to SHARD_COUNT - 1 */
export type ShardId = number;
/** The store's counter of a shard's owners; grows with every takeover. */
export type Epoch = number;
/** Milliseconds since 1970-01-01T00:00:00Z. */
export type EpochMs = number;

export const SHARD_COUNT = 64;
/** The one tenant of a server without tenants. */
export const DEFAULT_TENANT = "default";

/** One text for one attempt: its execution alone says too little, as a worker may hold several attempts of it. */
export function attemptKey(executionId: ExecutionId, attempt: number): string {
  return `${executionId}:${attempt}`;
}

/** Key that places an execution on a shard: its concurrency key, so that one owner counts it, else its job. */
export function shardKey(tenant: string, concurrencyKey: string | null, jobId: JobId): string {
  return concurrencyKey === null ? jobId : `${tenant}\u0000${concurrencyKey}`;
}

export function shardOf(key: string): ShardId {
  return fnv1a(key, 0x811c9dc5) % SHARD_COUNT;
}

/** FNV-1a over UTF-16 code units with a final mix: stable for ever, because stored rows depend on it. */
export function fnv1a(text: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  return hash >>> 0;
}
