import type { Step } from "../state.ts";
import { laneRoom } from "./intake.ts";

/** Rows that a sweep may read in all. */
const SWEEP_ROWS = 20_000;
/** How many rows more than it knows of a lane a sweep reads. */
const SWEEP_BEYOND = 64;
/**
 * A sweep reads all that is known of a lane again, so it comes the more seldom the more that is: what is missed in a lane of
 * thousands has thousands beside it, and reading them each second would be a tenth of what running them costs.
 */
const SWEEP_MS_PER_ROW = 1;
const SWEEP_EVERY_MAX_MS = 5_000;

/** Looks at the front of lanes for what no hint told of. */
export function sweep(view: Step, laneHashes: readonly number[]): void {
  const { state, wants } = view;
  let rows = 0;
  for (let i = 0; i < laneHashes.length && rows < SWEEP_ROWS; i++) {
    const laneHash = laneHashes[(state.sweepFrom + i) % laneHashes.length] as number;
    if (state.reading.has(laneHash) || isSwept(view, laneHash)) continue;
    let limit = SWEEP_BEYOND;
    for (const lane of state.lanes.withHash(laneHash)) {
      limit += lane.ready.size + lane.assignedReady;
      lane.sweptAt = view.now;
    }
    if (!state.lanes.knowsHash(laneHash)) limit = laneRoom(view);
    state.reading.add(laneHash);
    wants.push({ kind: "READY", laneHash, after: null, limit });
    rows += limit;
    if (rows >= SWEEP_ROWS) state.sweepFrom += i + 1;
  }
}

/** Whether lanes were swept so lately that they can wait for the next sweep. */
function isSwept({ state, now }: Step, laneHash: number): boolean {
  let known = 0;
  let sweptAt = Number.NEGATIVE_INFINITY;
  for (const lane of state.lanes.withHash(laneHash)) {
    known += lane.ready.size + lane.assignedReady;
    sweptAt = Math.max(sweptAt, lane.sweptAt);
  }
  const sinceMs = now - sweptAt;
  // Negative: the clock was set back.
  return sinceMs >= 0 && sinceMs < Math.min(known * SWEEP_MS_PER_ROW, SWEEP_EVERY_MAX_MS);
}
