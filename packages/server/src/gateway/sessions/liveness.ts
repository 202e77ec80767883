import { BROKEN_MAX_MS, SILENT_MAX_MS, STALL_MAX_MS } from "../limits.ts";

/** Times of the last sign of life of a worker, on the monotonic clock. */
export interface LastHeard {
  heardAtMs: number;
  /** Time at which the connection broke; null: the worker is connected. */
  brokenAtMs: number | null;
}

/** @returns why the worker is lost; null: the worker is not lost */
export function lossReason(lastHeard: LastHeard, nowMs: number): string | null {
  if (lastHeard.brokenAtMs !== null) {
    if (nowMs - lastHeard.brokenAtMs < BROKEN_MAX_MS) return null;
    return `its connection broke and it did not come back within ${BROKEN_MAX_MS / 1_000} s`;
  }
  if (nowMs - lastHeard.heardAtMs < SILENT_MAX_MS) return null;
  return `it was connected but silent for ${SILENT_MAX_MS / 1_000} s`;
}

/** Restarts the clock of a worker's silence. */
export function restartLastHeard(lastHeard: LastHeard, nowMs: number): void {
  lastHeard.heardAtMs = nowMs;
  if (lastHeard.brokenAtMs !== null) lastHeard.brokenAtMs = nowMs;
}

/** Detects that the process itself was stalled, so that workers may have sent messages that nothing has read yet. */
export class StallWatch {
  readonly #intervalMs: number;
  #lastMs: number;

  /** @param intervalMs interval between two calls of `wasStalled` */
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
