import { isDataError } from "./errors.ts";

/**
 * Runs a batch. If it is refused for its data, runs each half by itself, so that only the offending rows fail.
 * @param run runs all or nothing of a batch; returns one answer per item
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
