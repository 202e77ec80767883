import type { NewNode, NodeBirth } from "../../../ports/store-runs.ts";
import { float8s, int2s, int4s, int8s, texts, uuids } from "../connection/arrays.ts";
import { QUEUE_CODES, STATE_CODES, STEPS_MARK_CODES, TRIGGER_CODES } from "../connection/codes.ts";
import { policyText, requiresText } from "../jobs/job-columns.ts";

/** `executions.settled` of nodes: the dead letter is the run, so no list of dead letters has the execution of a node. */
export const OF_RUN = 3;

/**
 * SQL query: new executions of nodes, from arrays.
 * @param first number of the first of the parameters
 */
export const newNodes = (first: number) => {
  const columns = COLUMNS.map(([name, type], i) => `unnest($${first + i}::${type}[]) AS ${name}`);
  return `
  SELECT ${columns.join(", ")}`;
};

const COLUMNS = [
  ["id", "uuid"],
  ["job_id", "uuid"],
  ["lane", "int8"],
  ["rank", "float8"],
  ["due_at", "int8"],
  ["scheduled_at", "int8"],
  ["created_at", "int8"],
  ["concurrency_limit", "int4"],
  ["payload_bytes", "int4"],
  ["shard", "int2"],
  ["queue", "int2"],
  ["priority", "int2"],
  ["tenant", "text"],
  ["pool", "text"],
  ["handler", "text"],
  ["requires", "text"],
  ["policy", "text"],
  ["concurrency_key", "text"],
  ["job_version", "int4"],
  ["node", "int4"],
  ["item", "int4"],
  ["steps", "int2"],
  ["worker_id", "text"],
  ["gateway", "text"],
] as const;

/** Number of parameters of `newNodes`. */
export const NODE_COLUMNS = COLUMNS.length;

const NAMES = COLUMNS.map(([name]) => name);

/**
 * SQL: inserts the executions of the nodes `n`; a FROM clause follows.
 * @param updatedAt SQL expression: time of the write
 */
export const nodeInsert = (updatedAt: string) =>
  `INSERT INTO executions (${NAMES.join(", ")}, updated_at, state, attempt, trigger, has_unique_key, settled)
  SELECT ${NAMES.map((name) => `n.${name}`).join(", ")}, ${updatedAt},
    CASE WHEN n.worker_id IS NULL THEN ${STATE_CODES.PENDING} ELSE ${STATE_CODES.RUNNING} END,
    CASE WHEN n.worker_id IS NULL THEN 0 ELSE 1 END, ${TRIGGER_CODES.NODE}, false, ${OF_RUN}`;

/** Values of `newNodes`, in the order of the ids, so that adjacent rows are adjacent in every index. */
export function newNodeValues(nodes: readonly (NewNode & Pick<NodeBirth, "assigned">)[]): unknown[] {
  const rows = [...nodes].sort((a, b) => (a.row.id < b.row.id ? -1 : 1));
  return [
    uuids(rows, (n) => n.row.id),
    uuids(rows, (n) => n.row.jobId),
    int8s(rows, (n) => n.laneHash),
    float8s(rows, (n) => n.row.rank),
    int8s(rows, (n) => n.row.dueAt),
    int8s(rows, (n) => n.row.scheduledAt),
    int8s(rows, (n) => n.createdAt),
    int4s(rows, (n) => n.row.concurrencyLimit),
    int4s(rows, (n) => n.row.payloadBytes),
    int2s(rows, (n) => n.row.shard),
    int2s(rows, (n) => QUEUE_CODES[n.row.queue]),
    int2s(rows, (n) => n.row.priority),
    texts(rows, (n) => n.row.tenant),
    texts(rows, (n) => n.row.pool),
    texts(rows, (n) => n.row.handler),
    texts(rows, (n) => requiresText(n.row.requires)),
    texts(rows, (n) => policyText(n.row.policy)),
    texts(rows, (n) => n.row.concurrencyKey),
    int4s(rows, (n) => n.row.jobVersion),
    int4s(rows, (n) => n.row.node ?? null),
    int4s(rows, (n) => n.row.item ?? null),
    int2s(rows, ({ row: { steps } }) => (steps === undefined ? null : STEPS_MARK_CODES[steps])),
    texts(rows, ({ assigned }) => assigned?.workerId ?? null),
    texts(rows, ({ assigned }) => assigned?.gateway ?? null),
  ];
}
