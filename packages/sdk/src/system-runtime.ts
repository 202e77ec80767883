import { randomUUID } from "node:crypto";
import type { Runtime } from "./runtime.ts";

/**
 * The platform's clock, timers and randomness: the one file of the SDK that asks for them.
 * @param keepsAlive whether a timer that is set keeps the process from ending
 */
export function systemRuntime(keepsAlive: boolean): Runtime {
  return {
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
    setTimer: (delayMs, run) => {
      const handle = setTimeout(run, delayMs);
      if (!keepsAlive) handle.unref();
      return { cancel: () => clearTimeout(handle) };
    },
    random: () => Math.random(),
    uuid: () => randomUUID(),
    defer: (run) => void setImmediate(run),
  };
}
