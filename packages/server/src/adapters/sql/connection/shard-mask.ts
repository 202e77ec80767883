import type { ShardId } from "../../../domain/ids.ts";

/**
 * A set of shards as the 64 bits of a bigint, in text. A test with `ofShards` costs far less per row than a search in
 * an array.
 */
export function shardMask(shards: readonly ShardId[]): string {
  let mask = 0n;
  for (const shard of shards) mask |= 1n << BigInt(shard);
  return BigInt.asIntN(64, mask).toString();
}

/** SQL condition: the mask in that parameter contains the shard in `column`. */
export function ofShards(column: string, parameter: `$${number}`): string {
  return `((${parameter}::bigint >> ${column}) & 1) = 1`;
}
