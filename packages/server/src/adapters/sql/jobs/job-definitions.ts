import type { JobDefinition } from "../../../domain/job.ts";
import type { RecurrenceRule } from "../../../domain/recurrence.ts";
import { policyFrom, requiresFrom } from "../commit/candidates.ts";
import type { Row } from "../connection/connections.ts";

/** Columns of a job's definition. */
export const DEFINITION_COLUMNS = `j.name, j.pool, j.handler, j.priority, j.scheduled_at, j.labels,
  j.requires, j.policy, j.concurrency_key, j.concurrency_limit, j.unique_key, j.recurrence`;

type DefinitionRow = [
  name: string | null,
  pool: string,
  handler: string,
  priority: number,
  scheduledAt: number,
  labels: string | null,
  requires: string | null,
  policy: string | null,
  concurrencyKey: string | null,
  concurrencyLimit: number,
  uniqueKey: string | null,
  recurrence: string | null,
];

/** @param row values of DEFINITION_COLUMNS */
export function definitionFrom(row: Row): JobDefinition {
  const r = row as DefinitionRow;
  return {
    name: r[0],
    pool: r[1],
    handler: r[2],
    requires: requiresFrom(r[6]),
    priority: r[3],
    scheduledAt: r[4],
    recurrence: r[11] === null ? null : (JSON.parse(r[11]) as RecurrenceRule),
    policy: policyFrom(r[7]),
    concurrencyKey: r[8],
    concurrencyLimit: r[9],
    uniqueKey: r[10],
    labels: labelsFrom(r[5]),
  };
}

export function labelsFrom(text: string | null): Record<string, string> {
  return text === null ? {} : (JSON.parse(text) as Record<string, string>);
}
