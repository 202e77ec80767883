import type { ShardId } from "../../../domain/ids.ts";

/**
 * A set of shards as the 64 bits of a bigint, in text: asked with `ofShards` it costs a row far less than a search in an
 * array.
 */
export function shardMask(shards: readonly ShardId[]): string {
  let mask = 0n;
  for (const shard of shards) mask |= 1n << BigInt(shard);
  return BigInt.asIntN(64, mask).toString();
}

/** The condition that `column` is in the mask given as that parameter. */
export function ofShards(column: string, parameter: `$${number}`): string {
  return `((${parameter}::bigint >> ${column}) & 1) = 1`;
}
