/** Greatest number and weight of the items of a pack. */
export interface PackLimit {
  count: number;
  bytes: number;
}

/** Neighbours put together up to a limit. An item that exceeds the limit by itself is a pack of its own. */
export function packed<T>(items: readonly T[], limit: PackLimit, weigh: (item: T) => PackLimit): T[][] {
  const packs: T[][] = [];
  let count = 0;
  let bytes = 0;
  for (const item of items) {
    const weight = weigh(item);
    const pack = packs.at(-1);
    if (pack === undefined || count + weight.count > limit.count || bytes + weight.bytes > limit.bytes) {
      packs.push([item]);
      [count, bytes] = [0, 0];
    } else pack.push(item);
    count += weight.count;
    bytes += weight.bytes;
  }
  return packs;
}
