import type { Runtime } from "../../ports/runtime.ts";

/** Resolves after `delayMs` milliseconds. The timer keeps no process alive, so something else must. */
export function pause(runtime: Runtime, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    runtime.setTimer(delayMs, resolve);
  });
}

/**
 * Polls `reached` every `everyMs` milliseconds until it returns true (result true) or `limitMs` have passed (result
 * false).
 */
export async function waitUntil(
  runtime: Runtime,
  limitMs: number,
  everyMs: number,
  reached: () => boolean | Promise<boolean>,
): Promise<boolean> {
  const deadlineMs = runtime.monotonicMs() + limitMs;
  while (!(await reached())) {
    if (runtime.monotonicMs() >= deadlineMs) return false;
    await pause(runtime, everyMs);
  }
  return true;
}
