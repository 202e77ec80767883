import type { JobSubmission } from "@mainspring/contract";
import type { JobDefinition } from "../../domain/job.ts";
import { nameWarning } from "../../domain/name-warning.ts";
import { zoneNameWarning } from "../../domain/schedule/zones/zone-names.ts";
import type { CountedWarnings } from "../../ports/counted-warnings.ts";

/** The field `warnings` of an answer; nothing where there is none. */
interface Warned {
  warnings?: string[];
}

/** Warnings about a schedule. @param timezone undefined: the schedule has none */
export function zoneWarnings(timezone: string | undefined): Warned {
  return warned([timezone === undefined ? null : zoneNameWarning(timezone)]);
}

/** Warnings about what a job has and the next release refuses. */
export function jobWarnings(definition: Pick<JobDefinition, "name" | "recurrence">): Warned {
  return warned([zoneWarningOf(definition), nameWarningOf(definition)]);
}

/** The same, about a job as a request describes it. */
export function changeWarnings({ name, timezone }: Pick<JobSubmission, "name" | "timezone">): Warned {
  const zone = timezone === undefined ? null : zoneNameWarning(timezone);
  return warned([zone, nameWarningOf({ name: name ?? null })]);
}

/** Logs the warnings of a job that is taken or changed. @param log undefined: nobody reads it */
export function logWarnings(definition: JobDefinition, log: CountedWarnings | undefined): void {
  const job = definition.name;
  const [zone, name] = [zoneWarningOf(definition), nameWarningOf(definition)];
  if (zone !== null) log?.warn({ job, warning: zone }, "the api takes a job whose time zone the next release refuses");
  if (name !== null) log?.warn({ job, warning: name }, "the api takes a job whose name the next release refuses");
}

function zoneWarningOf({ recurrence }: Pick<JobDefinition, "recurrence">): string | null {
  return recurrence?.times.type === "CRON" ? zoneNameWarning(recurrence.times.timezone) : null;
}

function nameWarningOf({ name }: Pick<JobDefinition, "name">): string | null {
  return name === null ? null : nameWarning("name", name);
}

function warned(found: readonly (string | null)[]): Warned {
  const warnings = found.filter((warning) => warning !== null);
  return warnings.length === 0 ? {} : { warnings };
}
