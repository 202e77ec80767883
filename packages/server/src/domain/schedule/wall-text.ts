import type { WallSec } from "./wall-times.ts";

/** Text of a local time, such as `2025-03-09T02:30`; with seconds unless they are 0. */
export function wallText(wall: WallSec): string {
  const text = new Date(wall * 1_000).toISOString();
  return wall % 60 === 0 ? text.slice(0, 16) : text.slice(0, 19);
}

/**
 * Text of an instant as local time with its offset from UTC, such as `2025-03-09T03:00:00-04:00`.
 * @param instant epoch milliseconds
 */
export function localText(instant: number, offsetSec: number): string {
  const wall = new Date(instant + offsetSec * 1_000).toISOString();
  return wall.replace(/([.]000)?Z$/, "") + offsetText(offsetSec);
}

/** Text of an offset from UTC. Seconds are shown only if the zone had them, as no zone has today. */
function offsetText(offsetSec: number): string {
  const size = Math.abs(offsetSec);
  const parts = [Math.floor(size / 3_600), Math.floor(size / 60) % 60];
  if (size % 60 !== 0) parts.push(size % 60);
  return (offsetSec < 0 ? "-" : "+") + parts.map((part) => String(part).padStart(2, "0")).join(":");
}
