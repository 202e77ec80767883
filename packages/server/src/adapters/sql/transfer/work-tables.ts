import { RUN_NODE } from "../../../domain/execution.ts";
import { type MovedExecution, type MovedJob, SMALL_PAYLOAD_MAX } from "../../../ports/store-transfer.ts";
import { policyFrom, requiresFrom } from "../commit/candidates.ts";
import { endedText } from "../commit/commit-statement.ts";
import { QUEUE_CODES, STATE_CODES, STEPS_MARK_CODES, TRIGGER_CODES } from "../connection/codes.ts";
import { endedAttempts } from "../executions/execution-rows.ts";
import { labelsText, policyText, requiresText } from "../jobs/job-columns.ts";
import { labelsFrom } from "../jobs/job-definitions.ts";
import { payloadOf } from "../jobs/job-payloads.ts";
import { OF_RUN } from "../workflows/new-nodes.ts";
import { code, column, type Fields, json, type TableOf } from "./columns.ts";

/** Value of `executions.settled` for a dead letter of which another store does not tell how it was settled. */
const SETTLED = 2;

/** Rows of one portion. Each may have a payload or a result of 1 MiB. */
const ROWS = 100;

const id = (name = "id") => column<string>(name, "uuid");
const text = <T extends string | null = string>(name: string) => column<T>(name, "text");
const instant = <T extends number | null = number>(name: string) => column<T>(name, "int8");

const requires = { name: "requires", type: "text", to: requiresText, from: requiresFrom } as const;
const policy = { name: "policy", type: "text", to: policyText, from: policyFrom } as const;

const jobFields: Fields<MovedJob> = {
  ...{ jobId: id(), tenant: text("tenant"), version: column("version", "int4"), createdAt: instant("created_at") },
  ...{ updatedAt: instant("updated_at"), deletedAt: instant<number | null>("deleted_at") },
  ...{ payload: column("payload", "bytea"), name: text<string | null>("name"), pool: text("pool") },
  ...{ handler: text("handler"), requires, priority: column("priority", "int2"), policy },
  ...{ scheduledAt: instant("scheduled_at"), recurrence: json("recurrence", null) },
  ...{ concurrencyKey: text<string | null>("concurrency_key"), uniqueKey: text<string | null>("unique_key") },
  concurrencyLimit: column("concurrency_limit", "int4"),
  labels: { name: "labels", type: "text", to: labelsText, from: labelsFrom },
  // The graphs name the job of their workflow.
  nested: { ...json("nested", null), read: "nested.ids", write: null },
};

export const jobTable: TableOf<MovedJob> = {
  table: "jobs",
  key: ["jobId"],
  fields: jobFields,
  limit: ROWS,
  join: `LEFT JOIN LATERAL (
    SELECT coalesce((SELECT json_agg(n.job_id ORDER BY n.job_id) FROM workflow_graphs n WHERE n.of_job = t.id), '[]')::text AS ids
    FROM workflow_graphs g WHERE g.job_id = t.id LIMIT 1) nested ON true`,
};

/** Number of a mark, or NULL. */
const steps = {
  ...code("steps", STEPS_MARK_CODES),
  from: (value: number | null) => (value === null ? null : code("steps", STEPS_MARK_CODES).from?.(value as never)),
} as Fields<MovedExecution>["steps"];

const executionFields: Fields<MovedExecution> = {
  ...{ id: id(), jobId: id("job_id"), tenant: text("tenant"), shard: column("shard", "int2"), pool: text("pool") },
  ...{ handler: text("handler"), requires, priority: column("priority", "int2"), policy },
  concurrencyKey: text<string | null>("concurrency_key"),
  ...{ concurrencyLimit: column("concurrency_limit", "int4"), jobVersion: column("job_version", "int4") },
  ...{ lane: instant("lane"), rank: column("rank", "float8"), dueAt: instant("due_at") },
  ...{ scheduledAt: instant("scheduled_at"), createdAt: instant("created_at"), updatedAt: instant("updated_at") },
  ...{ startedAt: instant<number | null>("started_at"), finishedAt: instant<number | null>("finished_at") },
  ...{ attemptStartedAt: instant<number | null>("attempt_started_at"), payloadBytes: column("payload_bytes", "int4") },
  payload: column("payload", "bytea", {
    read: `CASE WHEN t.node IS NULL AND t.payload_bytes <= ${SMALL_PAYLOAD_MAX} THEN ${payloadOf("t", "j")} END`,
    write: null,
  }),
  ...{ attempt: column("attempt", "int4"), failures: column("failures", "int4"), lost: column("lost", "int4") },
  ...{ state: code("state", STATE_CODES), queue: code("queue", QUEUE_CODES), trigger: code("trigger", TRIGGER_CODES) },
  uniqueKey: column("has_unique_key", "text", {
    read: "CASE WHEN t.has_unique_key THEN j.unique_key END",
    write: `v."uniqueKey" IS NOT NULL`,
  }),
  ...{ reason: text<string | null>("reason"), workerId: text<string | null>("worker_id") },
  ...{ gateway: text<string | null>("gateway"), error: json("error", null) },
  attempts: { name: "attempts", type: "text", to: endedText, from: endedAttempts },
  ...{ result: column("result", "bytea"), retryOf: column("retry_of", "uuid") },
  isSettled: column("settled", "bool", {
    read: `coalesce(t.state = ${STATE_CODES.DEAD} AND t.settled <> ${OF_RUN}, false)`,
    write: `CASE WHEN v."node" <> ${RUN_NODE} THEN ${OF_RUN} WHEN v."isSettled" THEN ${SETTLED} END`,
  }),
  ...{ steps, node: column("node", "int4"), item: column("item", "int4"), branch: text<string | null>("branch") },
};

export const executionTable: TableOf<MovedExecution> = {
  table: "executions",
  key: ["id"],
  fields: executionFields,
  limit: ROWS,
  join: "LEFT JOIN jobs j ON j.id = t.job_id",
};
