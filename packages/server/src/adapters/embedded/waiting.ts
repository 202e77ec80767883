import type { Runtime } from "../../ports/runtime.ts";

/** Resolves after `delayMs`. Keeps no process alive, so only for waits beside something that does. */
export function pause(runtime: Runtime, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    runtime.setTimer(delayMs, resolve);
  });
}

/** Asks `reached` every `everyMs` until it says yes (true) or `limitMs` have passed (false). */
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
