import { randomUUID } from "node:crypto";
import type { Runtime } from "./runtime.ts";

/**
 * Longest delay of the platform's timers, in milliseconds. The platform would run a timer with a larger delay at once,
 * so larger delays are cut to this one.
 */
const DELAY_MAX_MS = 2 ** 31 - 1;

/**
 * Clock, timers and randomness of the platform. Only this file of the SDK uses them.
 * @param keepsAlive whether a pending timer keeps the process from ending
 */
export function systemRuntime(keepsAlive: boolean): Runtime {
  return {
    now: () => Date.now(),
    // This clock is the same in every thread of the process; `performance.now` is not.
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
