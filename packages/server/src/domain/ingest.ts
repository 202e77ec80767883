import { SHARD_COUNT, type ShardId } from "./ids.ts";

/** Place of a record in the topic of requests. */
export interface RecordPosition {
  partition: number;
  /** At most 2^53 - 1. */
  offset: number;
}

/** Age in ms up to which a record becomes a job. The month of its id has rows for at least as long. */
export const RECORD_AGE_MAX_MS = 28 * 86_400_000;
/** Time in ms by which the clock of a producer may be ahead. */
export const RECORD_AHEAD_MAX_MS = 86_400_000;

const POSITION = /^(\d{1,5})-(\d{1,16})$/;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Id of the request at a position, such as 12-34567. */
export function positionText({ partition, offset }: RecordPosition): string {
  return `${partition}-${offset}`;
}

/** Position that an id of a request names; null: the text is no such id. */
export function parsePosition(text: string): RecordPosition | null {
  const match = POSITION.exec(text);
  if (match === null) return null;
  const [partition, offset] = [Number(match[1]), Number(match[2])];
  return Number.isSafeInteger(offset) ? { partition, offset } : null;
}

/** Partition for the jobs of a shard. */
export function partitionOfShard(shard: ShardId, partitions: number): number {
  return shard % partitions;
}

/** Shard whose owner takes in the records of a partition: the lowest one of those that have the partition, if there are any. */
export function shardOfPartition(partition: number): ShardId {
  return partition % SHARD_COUNT;
}

/** Whether a text is an id that a record may name for its job: a UUIDv7 below those of recurring jobs. */
export function isRequestId(text: string): boolean {
  return UUID_V7.test(text) && text < "8";
}
