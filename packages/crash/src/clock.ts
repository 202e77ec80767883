/** Machine's monotonic clock, in milliseconds: all processes of one machine read the same value, and it never steps. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Zero of the wall clock on the monotonic clock, as observed now, in milliseconds. */
export function wallClockZeroMs(): number {
  return monotonicMs() - Date.now();
}

export function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/**
 * Asks every `everyMs` milliseconds until the answer is neither null nor undefined.
 * @throws {Error} when `withinMs` milliseconds have passed; the message has `what`
 */
export async function until<T>(
  what: string,
  withinMs: number,
  ask: () => Promise<T | null | undefined> | T | null | undefined,
  everyMs = 50,
): Promise<T> {
  const endMs = monotonicMs() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== null && answer !== undefined) return answer;
    if (monotonicMs() > endMs) throw new Error(`waited ${withinMs / 1_000} s in vain until ${what}`);
    await sleep(everyMs);
  }
}
