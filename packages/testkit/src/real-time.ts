// As they are now: a test may put others into their places, for the code that it tests.
const { setImmediate, setTimeout } = globalThis;

/** The platform's time and what it has under way: the one file of a rehearsal that asks for them. */
export const realTime = {
  now: (): number => Date.now(),
  monotonicMs: (): number => performance.now(),
  pause: (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms)),
  /** Until the loop has come round once. */
  turn: (): Promise<void> => new Promise((resolve) => void setImmediate(resolve)),
};

/** How many timers, sockets, files, … of each kind hold this process. */
export type UnderWay = ReadonlyMap<string, number>;

export function underWay(): UnderWay {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  // Over with the next turn of the loop, which is waited for in any case.
  counts.delete("Immediate");
  return counts;
}

/** Elements of `now` beyond those of `before`. */
export function sinceThen(before: UnderWay): string[] {
  return [...underWay()].flatMap(([kind, count]) => (count > (before.get(kind) ?? 0) ? [kind] : []));
}
