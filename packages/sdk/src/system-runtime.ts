import { randomUUID } from "node:crypto";
import type { Runtime } from "./runtime.ts";

/** The platform runs a timer at once whose delay is larger. Nobody waits for that long, so the rest is cut off. */
const DELAY_MAX_MS = 2 ** 31 - 1;

/**
 * The platform's clock, timers and randomness: the one file of the SDK that asks for them.
 * @param keepsAlive whether a timer that is set keeps the process from ending
 */
export function systemRuntime(keepsAlive: boolean): Runtime {
  return {
    now: () => Date.now(),
    // The same clock in every thread of the process, which `performance.now` is not.
    monotonicMs: () => {
      const [seconds, nanoseconds] = process.hrtime();
      return seconds * 1_000 + nanoseconds / 1e6;
    },
    setTimer: (delayMs, run) => {
      const handle = setTimeout(run, Math.min(delayMs, DELAY_MAX_MS));
      if (!keepsAlive) handle.unref();
      return { cancel: () => clearTimeout(handle) };
    },
    random: () => Math.random(),
    uuid: () => randomUUID(),
    defer: (run) => void setImmediate(run),
  };
}
