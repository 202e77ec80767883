/** Limits of a chunk: the number of its items and their total weight. */
export interface ChunkLimit {
  count: number;
  bytes: number;
}

/** Groups consecutive items up to a limit. An item above the limit is a chunk of its own. */
export function chunked<T>(items: readonly T[], limit: ChunkLimit, weigh: (item: T) => ChunkLimit): T[][] {
  const chunks: T[][] = [];
  let count = 0;
  let bytes = 0;
  for (const item of items) {
    const weight = weigh(item);
    const chunk = chunks.at(-1);
    if (chunk === undefined || count + weight.count > limit.count || bytes + weight.bytes > limit.bytes) {
      chunks.push([item]);
      [count, bytes] = [0, 0];
    } else chunk.push(item);
    count += weight.count;
    bytes += weight.bytes;
  }
  return chunks;
}
