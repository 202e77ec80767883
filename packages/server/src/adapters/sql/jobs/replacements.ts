import type { ExecutionId } from "../../../domain/ids.ts";
import type { Replacement, RowChange } from "../../../ports/store.ts";
import { int2s, int4s, int8s, texts, uuids } from "../connection/arrays.ts";
import { policyText, requiresText } from "./job-columns.ts";

/**
 * Parts of the commit statement for ticks in which executions get a new definition of their job; see
 * commit-statement.ts.
 */

export const REPLACED = `, replaced AS MATERIALIZED (
  SELECT unnest($36::uuid[]) AS id, unnest($37::int4[]) AS job_version, unnest($38::int8[]) AS lane,
    unnest($39::text[]) AS pool, unnest($40::text[]) AS handler, unnest($41::text[]) AS requires,
    unnest($42::int2[]) AS priority, unnest($43::int8[]) AS scheduled_at, unnest($44::text[]) AS policy,
    unnest($45::int4[]) AS concurrency_limit, unnest($46::int4[]) AS payload_bytes
)`;

const COLUMNS = ["job_version", "lane", "pool", "handler", "requires", "priority", "scheduled_at", "policy"];
COLUMNS.push("concurrency_limit", "payload_bytes");

/** NULL is a valid value of a column, so the statement asks whether there is a replacement. */
export const DEFINITION = COLUMNS.map((column) => {
  return `,\n    ${column} = CASE WHEN r.id IS NULL THEN e.${column} ELSE r.${column} END`;
}).join("");

interface Replaced extends Replacement {
  id: ExecutionId;
}

export function replacementOf({ id, replacement }: RowChange): Replaced[] {
  return replacement === undefined ? [] : [{ id, ...replacement }];
}

export function replacedValues(rows: readonly Replaced[]): unknown[] {
  return [
    uuids(rows, (r) => r.id),
    int4s(rows, (r) => r.jobVersion),
    int8s(rows, (r) => r.laneHash),
    texts(rows, (r) => r.definition.pool),
    texts(rows, (r) => r.definition.handler),
    texts(rows, (r) => requiresText(r.definition.requires)),
    int2s(rows, (r) => r.definition.priority),
    int8s(rows, (r) => r.definition.scheduledAt),
    texts(rows, (r) => policyText(r.definition.policy)),
    int4s(rows, (r) => r.definition.concurrencyLimit),
    int4s(rows, (r) => r.payloadBytes),
  ];
}
