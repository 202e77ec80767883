import { isDataError } from "./errors.ts";

/**
 * Runs a batch, and where it is refused for its data, each half of it by itself, so that only the culprits fail.
 * @param run all or nothing of what it is given; one answer an item
 */
export async function bisected<T, A>(
  items: readonly T[],
  run: (items: readonly T[]) => Promise<A[]>,
  refuse: (item: T, error: Error) => A,
): Promise<A[]> {
  if (items.length === 0) return [];
  try {
    return await run(items);
  } catch (error) {
    if (!isDataError(error)) throw error;
    if (items.length === 1) return [refuse(items[0] as T, error)];
    const half = items.length >> 1;
    const first = await bisected(items.slice(0, half), run, refuse);
    return first.concat(await bisected(items.slice(half), run, refuse));
  }
}
