import type { EpochMs } from "./ids.ts";
import type { JobDefinition } from "./job.ts";

/**
 * Whether it makes no difference which of the two a job has. Times that have come are the same: what asks to run at once asks for
 * nothing new where the job is due already.
 */
export function isSameDefinition(a: JobDefinition, b: JobDefinition, now: EpochMs): boolean {
  const time = ({ scheduledAt }: JobDefinition) => Math.max(scheduledAt, now);
  return time(a) === time(b) && textOf(a) === textOf(b);
}

function textOf(definition: JobDefinition): string {
  return JSON.stringify(sorted({ ...definition, scheduledAt: 0 }));
}

/** Neither the order of an object's members nor that of labels means anything. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).map(([key, member]) => [key, sorted(member)] as const);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}
