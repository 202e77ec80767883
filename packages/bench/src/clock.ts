/** Milliseconds since 1970, with fractions; comparable between the processes of one machine. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

export function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** Returns the first answer of the probe that is not null. @throws the time is over before that */
export async function until<T>(
  what: string,
  withinMs: number,
  everyMs: number,
  probe: () => Promise<T | null> | T | null,
): Promise<T> {
  const untilMs = nowMs() + withinMs;
  for (;;) {
    const found = await probe();
    if (found !== null) return found;
    if (nowMs() > untilMs) throw new Error(`${what} did not come within ${withinMs / 1_000} s`);
    await pause(everyMs);
  }
}
