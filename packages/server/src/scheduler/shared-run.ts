/**
 * Lets callers share runs of an action. Each call resolves when a run that began after the call has ended; calls that
 * come while a run is under way share the next one.
 */
export function sharedRun(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;
  return () => {
    next ??= running.then(() => {
      next = null;
      const begun = run();
      running = begun.catch(() => undefined);
      return begun;
    });
    return next;
  };
}
