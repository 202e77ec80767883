import { type Task, type TaskContext, TerminalError, task } from "@mainspring/sdk";
import type { Runtime } from "../ports/runtime.ts";

const SLEEP_MS_MAX = 86_400_000;

export interface SleepPayload {
  /** Duration in whole milliseconds, 0 to 86_400_000 (a day). */
  ms: number;
}

/** Occupies a slot for a while and does nothing; ends at once when it is cancelled. */
export function sleepTask(runtime: Runtime): Task<SleepPayload, { sleptMs: number }> {
  return task({
    name: "sleep",
    run: async (payload: unknown, ctx) => {
      const ms = durationOf(payload);
      await pause(runtime, ms, ctx.signal);
      return { sleptMs: ms };
    },
  });
}

/** @throws {TerminalError} the payload is wrong, so a retry would fail too */
function durationOf(payload: unknown): number {
  const { ms, ...rest } = Object(payload) as Record<string, unknown>;
  const fits = Number.isInteger(ms) && Number(ms) >= 0 && Number(ms) <= SLEEP_MS_MAX;
  if (fits && Object.keys(rest).length === 0) return Number(ms);
  throw new TerminalError(`sleep: the payload must be {"ms": n}, n a whole number from 0 to ${SLEEP_MS_MAX}`);
}

function pause(runtime: Runtime, ms: number, signal: TaskContext["signal"]): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = () => {
      timer.cancel();
      reject(signal.reason);
    };
    const timer = runtime.setTimer(ms, () => {
      signal.removeEventListener("abort", stop);
      resolve();
    });
    signal.addEventListener("abort", stop, { once: true });
  });
}
