import { type Backoff, fullJitterMs } from "../backoff.ts";
import { handlerSleep } from "../handlers/handler-sleep.ts";
import { adviceOf } from "../handlers/retry-errors.ts";
import type { Runtime } from "../runtime.ts";

const BACKOFF: Backoff = { firstMs: 500, maxMs: 30_000 };

/** Attempt in which a step runs. */
interface Surroundings {
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
  /** @throws the attempt is over */
  check(): void;
}

/** Calls the function of a step, and again after an error, as often as `retries` says. */
export async function runWithRetries(fn: () => unknown, retries: number, within: Surroundings): Promise<unknown> {
  for (let failures = 0; ; ) {
    try {
      return await fn();
    } catch (error) {
      // Advice of a handler's error is about the whole attempt.
      if (++failures > retries || within.signal.aborted || adviceOf(error) !== null) throw error;
    }
    const { runtime, signal } = within;
    await handlerSleep(runtime, fullJitterMs(BACKOFF, failures, runtime.random()), signal);
    within.check();
  }
}
