import { type Runtime, sleep } from "./runtime.ts";

/** Longer timers than the platform can hold are set anew. */
const TIMER_MAX_MS = 3_600_000;

/** Waits for a handler: at least `delayMs`, or until the signal aborts, with whose reason it then rejects. */
export async function handlerSleep(runtime: Runtime, delayMs: number, signal: AbortSignal): Promise<void> {
  if (!(delayMs >= 0)) throw new RangeError(`sleep: must be 0 or more milliseconds, not ${delayMs}`);
  const untilMs = runtime.monotonicMs() + delayMs;
  for (let leftMs = delayMs; leftMs > 0; leftMs = untilMs - runtime.monotonicMs()) {
    await sleep(runtime, Math.min(leftMs, TIMER_MAX_MS), signal);
    signal.throwIfAborted();
  }
  signal.throwIfAborted();
}
