import type { EpochMs } from "./ids.ts";
import type { JobDefinition } from "./job.ts";

/**
 * Whether two definitions of a job are equivalent. Due times in the past count as equal: a request to run now changes
 * nothing for a job that is due already. The trace of the request does not count.
 */
export function isSameDefinition(a: JobDefinition, b: JobDefinition, now: EpochMs): boolean {
  const time = ({ scheduledAt }: JobDefinition) => Math.max(scheduledAt, now);
  return time(a) === time(b) && textOf(a) === textOf(b);
}

function textOf(definition: JobDefinition): string {
  const { traceparent: _, ...policy } = definition.policy;
  return JSON.stringify(sorted({ ...definition, policy, scheduledAt: 0 }));
}

/** Sorts the members of objects, because neither their order nor that of labels has a meaning. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).map(([key, member]) => [key, sorted(member)] as const);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}
