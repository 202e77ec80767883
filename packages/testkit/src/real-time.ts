// The functions are read here once, because a test may replace the globals for the code under test.
const { setImmediate, setTimeout } = globalThis;

/** Real time and the work in progress of the platform. Only this file of the package uses them. */
export const realTime = {
  now: (): number => Date.now(),
  monotonicMs: (): number => performance.now(),
  pause: (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms)),
  /** Resolves after one turn of the event loop. */
  turn: (): Promise<void> => new Promise((resolve) => void setImmediate(resolve)),
};

/** Number of timers, sockets, files, … by kind that keep this process alive. */
export type UnderWay = ReadonlyMap<string, number>;

export function underWay(): UnderWay {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  // Immediates end with the next turn of the event loop, for which the caller waits in any case.
  counts.delete("Immediate");
  return counts;
}

/** Resources in `now` that `before` does not have. */
export function sinceThen(before: UnderWay): string[] {
  return [...underWay()].flatMap(([kind, count]) => (count > (before.get(kind) ?? 0) ? [kind] : []));
}
