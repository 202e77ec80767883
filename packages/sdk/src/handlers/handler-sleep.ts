import { type Runtime, sleep } from "../runtime.ts";

/** Longest timer, in milliseconds. For a longer wait, which the platform cannot hold, the timer is set again. */
const TIMER_MAX_MS = 3_600_000;

/**
 * Waits at least `delayMs` milliseconds for a handler. When the signal aborts, the wait ends and rejects with the
 * signal's reason.
 */
export async function handlerSleep(runtime: Runtime, delayMs: number, signal: AbortSignal): Promise<void> {
  if (!(delayMs >= 0)) throw new RangeError(`sleep: must be 0 or more milliseconds, not ${delayMs}`);
  const untilMs = runtime.monotonicMs() + delayMs;
  for (let leftMs = delayMs; leftMs > 0; leftMs = untilMs - runtime.monotonicMs()) {
    await sleep(runtime, Math.min(leftMs, TIMER_MAX_MS), signal);
    signal.throwIfAborted();
  }
  signal.throwIfAborted();
}
