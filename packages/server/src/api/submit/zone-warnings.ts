import type { JobDefinition } from "../../domain/job.ts";
import { zoneNameWarning } from "../../domain/schedule/zones/zone-names.ts";
import type { CountedWarnings } from "../../ports/counted-warnings.ts";

/** The field `warnings` of an answer about a schedule; nothing where there is none. @param timezone undefined: the schedule has none */
export function zoneWarnings(timezone: string | undefined): { warnings?: string[] } {
  const warning = timezone === undefined ? null : zoneNameWarning(timezone);
  return warning === null ? {} : { warnings: [warning] };
}

/** The same, of a job. */
export function jobWarnings({ recurrence }: Pick<JobDefinition, "recurrence">): { warnings?: string[] } {
  return zoneWarnings(recurrence?.times.type === "CRON" ? recurrence.times.timezone : undefined);
}

/** Logs the warnings of a job that is taken or changed. @param log undefined: nobody reads it */
export function logWarnings({ recurrence, name }: JobDefinition, log: CountedWarnings | undefined): void {
  for (const warning of jobWarnings({ recurrence }).warnings ?? [])
    log?.warn({ job: name, warning }, "the api takes a job whose time zone the next release refuses");
}
