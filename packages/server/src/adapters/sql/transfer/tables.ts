import type { MovedPayload, TransferKind, TransferRows } from "../../../ports/store-transfer.ts";
import {
  DELIVERY_STATE_CODES,
  PLAN_STATE_CODES,
  RUN_MODE_CODES,
  SKIP_REASON_CODES,
  STEP_KIND_CODES,
} from "../connection/codes.ts";
import { linesFrom, linesText } from "../executions/attempt-logs.ts";
import { KEPT, keptFrom, keptText, mapCountsFrom, mapCountsText } from "../workflows/retry-run.ts";
import { code, column, type Fields, json, type TableOf } from "./columns.ts";
import { executionTable, jobTable } from "./work-tables.ts";

/** Kinds of which each row is one row of one table. */
export type TableKind = Exclude<TransferKind, "journals" | "commands" | "idempotencyKeys">;

const tenantFields = {
  ...{ name: column<string>("name", "text"), weight: column<number>("weight", "int4") },
  maxRunning: column<number | null>("max_running", "int4"),
  maxWaiting: column<number | null>("max_waiting", "int8"),
  maxRecurring: column<number | null>("max_recurring", "int4"),
  submitsPerSec: column<number | null>("submits_per_sec", "float8"),
  requestsPerSec: column<number | null>("requests_per_sec", "float8"),
  maxPayloadBytes: column<number | null>("max_payload_bytes", "int4"),
  maxBatchBytes: column<number | null>("max_batch_bytes", "int4"),
  retentionDays: column<number | null>("retention_days", "int4"),
  pools: list<readonly string[] | null>("pools"),
  state: column("state", "text"),
  createdAt: column<number>("created_at", "int8"),
  updatedAt: column<number>("updated_at", "int8"),
  version: column<number>("version", "int8"),
} as Fields<TransferRows["tenants"]>;

function list<T>(name: string) {
  return column<T>(name, "list", {
    to: (value) => (value === null ? null : JSON.stringify(value)),
    from: (text: string | null) => (text === null ? null : JSON.parse(text)) as T,
  });
}

/** A limit, which is 0 if there is none. */
function limit(name: string, type: "int4" | "float8") {
  return column<number | null>(name, type, { to: (value) => value ?? 0, from: (value: number) => value || null });
}

const id = (name = "id") => column<string>(name, "uuid");
const text = (name: string) => column<string>(name, "text");
const instant = <T extends number | null = number>(name: string) => column<T>(name, "int8");

/** Column of the execution of a run that is written. */
const OF_RUN = (column: string) => `(SELECT e.${column} FROM executions e WHERE e.id = v."run")`;

function jsonb<T>(name: string) {
  return column<T>(name, "jsonb", {
    to: (value) => JSON.stringify(value),
    from: (text: string) => JSON.parse(text) as T,
  });
}

function isEmpty(list: readonly unknown[]): boolean {
  return list.length === 0;
}

const auditFields: Fields<TransferRows["audit"]> = {
  ...{ chain: id("chain"), seq: instant("seq"), at: instant("at"), tenant: text("tenant") },
  actor: {
    ...json<TransferRows["audit"]["actor"]>("actor"),
    read: "json_build_object('kind', t.actor_kind, 'keyId', t.actor_key, 'for', t.actor_for)::text",
    write: null,
  },
  ...{ action: text("action"), target: column("target", "text"), outcome: column("outcome", "text") },
  ...{ requestId: column("request_id", "text"), address: column("address", "text"), detail: jsonb("detail") },
  ...{ prev: column("prev", "hex"), hash: column("hash", "hex") },
};

/** Payloads of nodes as pairs of the node and base64; another statement writes them. @param rows table `p` with a condition */
function payloadsColumn(rows: string) {
  return column<readonly MovedPayload[]>("payloads", "text", {
    read: `(SELECT json_agg(json_build_array(p.node, encode(p.payload, 'base64')) ORDER BY p.node)::text FROM ${rows})`,
    write: null,
    to: () => null,
    from: (text: string | null) =>
      (JSON.parse(text ?? "[]") as [number, string][]).map(([node, payload]) => ({
        ...{ node, payload: Buffer.from(payload, "base64") },
      })),
  });
}

/** Digest of the name and data of a signal, as the store on Redis has it. */
const SIGNAL_DIGEST = `encode(substring(sha256(convert_to(t.name, 'UTF8') || '\\x00'::bytea ||
  CASE WHEN t.data IS NULL THEN ''::bytea ELSE 'd'::bytea || t.data END) for 16), 'base64')`;

const TABLES: { readonly [K in TableKind]: TableOf<TransferRows[K]> } = {
  tenants: { table: "tenants", key: ["name"], fields: tenantFields, where: "t.state <> 'DELETED'" },
  sources: {
    table: "tenant_sources",
    key: ["kind", "name"],
    fields: { kind: column("kind", "text"), name: text("name"), tenant: text("tenant") },
  },
  pools: {
    table: "pools",
    key: ["name"],
    fields: {
      ...{ name: text("name"), paused: column("paused", "bool"), order: column("order_strategy", "text") },
      ...{ priorityStepMs: instant("priority_step_ms"), placement: column("placement", "text") },
      ...{ maxRunning: limit("max_running", "int4"), ratePerSec: limit("rate_per_sec", "float8") },
      headroom: column("headroom", "int4"),
    },
    // The owner is the part of the name before U+001F.
    computed: { owner: `CASE WHEN strpos(v."name", chr(31)) > 0 THEN split_part(v."name", chr(31), 1) END` },
  },
  keys: {
    table: "api_keys",
    key: ["id"],
    fields: {
      ...{ id: id(), tenant: column("tenant", "text"), kind: column("kind", "text"), scopes: list("scopes") },
      ...{ pools: list("pools"), certificateId: column("certificate_id", "uuid"), name: text("name") },
      ...{ hint: text("hint"), createdAt: instant("created_at"), createdBy: text("created_by") },
      ...{ expiresAt: instant<number | null>("expires_at"), replaces: column("replaces", "uuid") },
      ...{ hash: column("hash", "base64"), revokedAt: instant<number | null>("revoked_at") },
      ...{ lastUsedAt: instant<number | null>("last_used_at"), version: instant("version") },
    },
  },
  handlers: {
    table: "handler_policies",
    key: ["pool", "handler"],
    fields: {
      ...{ pool: text("pool"), handler: text("handler"), isHome: column("is_home", "bool") },
      ...{ policies: text("policies"), declaredAt: instant("declared_at"), seenAt: instant("seen_at") },
      version: instant("version"),
    },
  },
  zones: {
    table: "tzdata_versions",
    key: ["version"],
    limit: 1,
    fields: { version: text("version"), releasedOn: column("released_on", "text"), zones: json("zones") },
  },
  changeovers: {
    table: "tzdata_changeovers",
    key: ["number"],
    fields: { number: column("number", "int4"), version: text("version"), since: instant("since") },
  },
  graphs: {
    table: "workflow_graphs",
    key: ["workflow", "version"],
    limit: 8,
    fields: {
      ...{ workflow: id("job_id"), version: column("version", "int4"), nodes: column("nodes", "int4") },
      ...{ graph: column("graph", "bytea"), definitions: column("definitions", "bytea") },
      payloads: payloadsColumn("workflow_payloads p WHERE p.job_id = t.job_id AND p.version = t.version"),
    },
  },
  parts: {
    table: "workflow_parts",
    key: ["run", "first"],
    limit: 8,
    where: "EXISTS (SELECT FROM executions e WHERE e.id = t.run)",
    fields: {
      ...{ run: id("run"), first: column("first", "int4"), spawner: column("spawner", "int4") },
      ...{
        nodes: column("nodes", "int4"),
        graph: column("graph", "bytea"),
        definitions: column("definitions", "bytea"),
      },
      payloads: payloadsColumn(
        "workflow_part_payloads p WHERE p.run = t.run AND p.node >= t.first AND p.node < t.first + t.nodes",
      ),
    },
  },
  signals: {
    table: "signals",
    key: ["executionId", "id"],
    limit: 100,
    fields: {
      ...{ executionId: id("execution_id"), id: text("id"), at: instant("at"), run: column("run", "uuid") },
      isTaken: column("taken_by", "bool", {
        read: "t.taken_by IS NOT NULL",
        write: `CASE WHEN v."isTaken" THEN '' END`,
      }),
      name: column("name", "text", { read: "CASE WHEN t.taken_by IS NULL THEN t.name ELSE '' END" }),
      data: column("data", "bytea", { read: "CASE WHEN t.taken_by IS NULL THEN t.data END" }),
      contentDigest: column("digest", "text", { read: SIGNAL_DIGEST, write: null }),
    },
  },
  jobs: jobTable,
  payloads: {
    table: "job_payloads",
    key: ["jobId", "version"],
    where: "t.payload IS NOT NULL",
    limit: 100,
    fields: { jobId: id("job_id"), version: column("version", "int4"), payload: column("payload", "bytea") },
  },
  plans: {
    table: "plans",
    key: ["jobId"],
    fields: {
      ...{ jobId: id("job_id"), revision: column("revision", "int4"), shard: column("shard", "int2") },
      ...{ version: column("version", "int4"), state: code("state", PLAN_STATE_CODES) },
      ...{ nextFireAt: instant<number | null>("next_fire_at"), fired: column("fired", "int4") },
      ...{ previous: column("previous", "uuid"), bufferedAt: instant<number | null>("buffered_at") },
      ...{ catchUps: json<TransferRows["plans"]["catchUps"]>("catch_ups", [], isEmpty), tzdata: text("tzdata") },
      tenant: column("tenant", "text", { read: "coalesce(nullif(t.tenant, ''), j.tenant)" }),
      pool: column("pool", "text", { read: "coalesce(nullif(t.pool, ''), j.pool)" }),
    },
    ...{ where: "EXISTS (SELECT FROM jobs j WHERE j.id = t.job_id)", join: "JOIN jobs j ON j.id = t.job_id" },
    computed: { created_at: `(SELECT j.created_at FROM jobs j WHERE j.id = v."jobId")` },
  },
  names: {
    table: "job_names",
    key: ["tenant", "name"],
    fields: { tenant: text("tenant"), name: text("name"), jobId: id("job_id") },
  },
  skips: {
    table: "skips",
    key: ["jobId", "from"],
    fields: {
      ...{ jobId: id("job_id"), from: instant("from_at"), to: instant("to_at"), count: column("count", "int4") },
      reason: code("reason", SKIP_REASON_CODES),
    },
  },
  executions: executionTable,
  uniqueKeys: {
    table: "unique_keys",
    key: ["tenant", "key"],
    fields: { tenant: text("tenant"), key: text("key"), executionId: id("execution_id"), jobId: id("job_id") },
  },
  runs: {
    table: "workflow_runs",
    key: ["run"],
    join: "JOIN executions e ON e.id = t.run",
    where: "EXISTS (SELECT FROM executions e WHERE e.id = t.run)",
    fields: {
      ...{ run: id("run"), revision: column("revision", "int4"), mode: code("mode", RUN_MODE_CODES) },
      ...{ paused: column("paused", "bool"), outcome: json("outcome", null) },
      mapCounts: {
        name: "map_counts",
        type: "text",
        from: mapCountsFrom,
        to: (counts) => (counts.length === 0 ? null : mapCountsText(counts)),
      },
      kept: {
        name: "kept",
        type: "text",
        from: keptFrom,
        to: (kept) => `[${JSON.stringify(kept.map(({ run }) => run))},${keptText(kept)}]`,
        read: `(SELECT ${KEPT} FROM (SELECT t.bases, t.kept) w)`,
        write: `CASE WHEN v."retryOf" IS NOT NULL THEN v."kept"::json ->> 1 END`,
      },
      // The key of a run of a job is the job.
      workflow: column("workflow", "uuid", {
        read: "coalesce(t.workflow, e.job_id)",
        write: `nullif(v."workflow", ${OF_RUN("job_id")})`,
      }),
      retryOf: column("retry_of", "uuid"),
    },
    computed: {
      shard: OF_RUN("shard"),
      bases: `CASE WHEN v."retryOf" IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(v."kept"::json -> 0)::uuid) END`,
    },
  },
  steps: {
    table: "execution_steps",
    key: ["executionId", "name"],
    limit: 100,
    fields: {
      ...{ executionId: id("execution_id"), name: text("name"), kind: code("kind", STEP_KIND_CODES) },
      ...{ attempt: column("attempt", "int4"), number: column("number", "int4"), at: instant("at") },
      data: column("data", "bytea"),
    } as Fields<TransferRows["steps"]>,
  },
  logs: {
    table: "attempt_logs",
    key: ["executionId", "attempt", "part"],
    limit: 100,
    fields: {
      ...{ executionId: id("execution_id"), attempt: column("attempt", "int4"), part: column("part", "int8") },
      ...{
        received: column("received", "int8"),
        lines: { name: "lines", type: "text", to: linesText, from: linesFrom },
      },
    } as Fields<TransferRows["logs"]>,
  },
  audit: {
    table: "audit",
    key: ["at", "chain", "seq"],
    fields: auditFields,
    computed: {
      actor_kind: `v."actor"::json ->> 'kind'`,
      ...{ actor_key: `v."actor"::json ->> 'keyId'`, actor_for: `v."actor"::json ->> 'for'` },
    },
  },
  anchors: {
    table: "audit_anchors",
    key: ["number"],
    limit: 100,
    fields: {
      ...{ number: instant("number"), at: instant("at"), heads: jsonb("heads"), floors: jsonb("floors") },
      ...{ prev: column("prev", "hex"), hash: column("hash", "hex"), signature: column("signature", "text") },
    },
  },
  sealed: {
    table: "audit_sealed",
    key: ["chain"],
    fields: { chain: id("chain"), seq: instant("seq") },
  },
  webhooks: {
    table: "webhooks",
    key: ["id"],
    fields: {
      ...{ id: id(), tenant: text("tenant"), url: text("url"), filter: json("filter") },
      ...{ secret: column("secret", "text"), former: column("former_secret", "text") },
      formerUntil: column("former_until", "int8", { read: "coalesce(t.former_until, 0)" }),
      ...{ createdAt: instant("created_at"), failingSince: column("failing_since", "int8") },
      ...{ lastError: column("last_error", "text"), lastDeliveredAt: column("last_delivered_at", "int8") },
      ...{ disabledAt: column("disabled_at", "int8"), disabledReason: column("disabled_reason", "text") },
    },
  },
  deliveries: {
    table: "webhook_deliveries",
    key: ["id"],
    fields: {
      ...{ id: id(), webhook: id("webhook"), tenant: text("tenant"), shard: column("shard", "int2") },
      ...{ url: text("url"), event: json("event"), state: code("state", DELIVERY_STATE_CODES) },
      ...{ tries: column("tries", "int4"), nextAt: column("next_at", "int8"), createdAt: instant("created_at") },
      ...{ triedAt: column("tried_at", "int8"), status: column("status", "int4"), error: column("error", "text") },
    },
  },
  positions: {
    table: "ingest_positions",
    key: ["partition"],
    fields: {
      ...{ partition: column("partition", "int4"), topic: id("topic"), next: instant("next_offset") },
      replayUntil: instant("replay_until"),
    },
    computed: { updated_at: "floor(extract(epoch FROM clock_timestamp()) * 1000)::int8" },
  },
};

export function tableOf<K extends TableKind>(kind: K): TableOf<TransferRows[K]> {
  return TABLES[kind];
}

export function hasTable(kind: TransferKind): kind is TableKind {
  return kind in TABLES;
}
