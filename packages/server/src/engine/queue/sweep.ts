import type { Step } from "../state.ts";
import { laneRoom } from "./lane-room.ts";

/** Rows that one sweep may read. */
const SWEEP_ROWS = 20_000;
/**
 * Largest number of rows that a sweep reads of a lane beyond those that are known. A full lane has no room for them: every row that a sweep
 * reads enters memory, and the store has the rest.
 */
const SWEEP_BEYOND = 64;
/**
 * Interval in ms between sweeps of a lane, per row that is known of it and per lane. A sweep reads all known rows of the lane
 * again, so all lanes together read about one known row again each ms, however many lanes there are. A row that was
 * missed in a lane of many rows waits behind them anyway.
 */
const SWEEP_MS_PER_ROW = 1;
const SWEEP_EVERY_MAX_MS = 30_000;

/** Reads the front of lanes, to find rows whose hints were lost. */
export function sweep(view: Step, laneHashes: readonly number[]): void {
  const { state, wants } = view;
  let rows = 0;
  for (let i = 0; i < laneHashes.length && rows < SWEEP_ROWS; i++) {
    const laneHash = laneHashes[(state.sweepFrom + i) % laneHashes.length] as number;
    if (state.reading.has(laneHash) || isSwept(view, laneHash)) continue;
    let limit = state.lanes.knowsHash(laneHash) ? 0 : laneRoom(view, null);
    for (const lane of state.lanes.withHash(laneHash)) {
      const room = Math.max(0, laneRoom(view, lane) - lane.ready.size);
      limit += lane.ready.size + lane.assignedReady + Math.min(room, SWEEP_BEYOND);
      lane.sweptAt = view.now;
    }
    state.reading.add(laneHash);
    wants.push({ kind: "READY", laneHash, after: null, limit });
    rows += limit;
    if (rows >= SWEEP_ROWS) state.sweepFrom += i + 1;
  }
}

/** Whether the lanes with this hash were swept recently enough to wait for the next sweep. */
function isSwept({ state, now }: Step, laneHash: number): boolean {
  let known = 0;
  let sweptAt = Number.NEGATIVE_INFINITY;
  for (const lane of state.lanes.withHash(laneHash)) {
    known += lane.ready.size + lane.assignedReady;
    sweptAt = Math.max(sweptAt, lane.sweptAt);
  }
  const sinceMs = now - sweptAt;
  // Negative: the clock was set back.
  return sinceMs >= 0 && sinceMs < Math.min(known * state.lanes.size * SWEEP_MS_PER_ROW, SWEEP_EVERY_MAX_MS);
}
