import { BROKEN_MAX_MS, SILENT_MAX_MS, STALL_MAX_MS } from "../limits.ts";

/** When a worker was last heard of; all times of the monotonic clock. */
export interface Pulse {
  heardAtMs: number;
  /** null: it is connected. */
  brokenAtMs: number | null;
}

/** @returns why the worker is lost; null: it is not */
export function lossReason(pulse: Pulse, nowMs: number): string | null {
  if (pulse.brokenAtMs !== null) {
    if (nowMs - pulse.brokenAtMs < BROKEN_MAX_MS) return null;
    return `its connection broke and it did not come back within ${BROKEN_MAX_MS / 1_000} s`;
  }
  if (nowMs - pulse.heardAtMs < SILENT_MAX_MS) return null;
  return `it was connected but silent for ${SILENT_MAX_MS / 1_000} s`;
}

/** Gives the worker its whole time again. */
export function restartPulse(pulse: Pulse, nowMs: number): void {
  pulse.heardAtMs = nowMs;
  if (pulse.brokenAtMs !== null) pulse.brokenAtMs = nowMs;
}

/** Notices that its own process did not run: then workers may have spoken and nobody listened. */
export class StallWatch {
  readonly #intervalMs: number;
  #lastMs: number;

  /** @param intervalMs how often `wasStalled` is asked */
  constructor(intervalMs: number, nowMs: number) {
    this.#intervalMs = intervalMs;
    this.#lastMs = nowMs;
  }

  wasStalled(nowMs: number): boolean {
    const lateMs = nowMs - this.#lastMs - this.#intervalMs;
    this.#lastMs = nowMs;
    return lateMs > STALL_MAX_MS;
  }
}
