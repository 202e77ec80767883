import { type EpochMs, type ExecutionId, fnv1a, type JobId } from "./ids.ts";

/**
 * Id of a planned instant's execution: a UUIDv7 that every node derives alike, so that a second insert of the same
 * instant conflicts.
 * @param timeMs time that the id is sorted by: the planned instant, or the creation of an execution that is fired late
 */
export function occurrenceId(jobId: JobId, plannedAt: EpochMs, timeMs: EpochMs): ExecutionId {
  return derivedId(`${jobId}@${plannedAt}`, `${plannedAt}@${jobId}`, timeMs);
}

/**
 * A UUIDv7 that every node derives alike.
 * @param text what the id is derived from, and `other` the same in another order
 * @param timeMs time that the id is sorted by
 */
export function derivedId(text: string, other: string, timeMs: EpochMs): string {
  const a = fnv1a(text, 0x811c9dc5);
  const b = fnv1a(text, 0x2f0b4c47);
  const c = fnv1a(other, 0x9747b28c);
  const time = hex(timeMs, 12);
  const version = `7${hex(a >>> 20, 3)}`;
  const variant = hex(0x8000 | ((a >>> 4) & 0x3000) | (b >>> 20), 4);
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}-${variant}-${hex(b & 0xffff, 4)}${hex(c, 8)}`;
}

/** Time that a UUIDv7 contains and is sorted by. */
export function idTimeMs(id: string): EpochMs {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
