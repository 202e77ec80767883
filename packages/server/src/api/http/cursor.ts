import { ProblemError, problem } from "./errors.ts";

/** List to which a cursor belongs; a cursor of another list is refused. */
export type ListKind =
  | "jobs"
  | "executions"
  | "execution-runs"
  | "dead-letters"
  | "ledger"
  | "workers"
  | "pools"
  | "handlers"
  | "workflows"
  | "nodes"
  | "items"
  | "webhooks"
  | "deliveries"
  | "requests"
  | "refused-records"
  | "api-keys"
  | "audit"
  | "audit-records"
  | "audit-anchors"
  | "tenants";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Time, chain and place of a record of the audit log. */
const RECORD = /^\d{1,15} [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12} \d{1,15}$/;
/** Time of the refusal, and position, of a record of Kafka. */
const REFUSED_RECORD = /^\d{1,15} \d{1,5}-\d{1,16}$/;
const PLACES: Record<ListKind, RegExp> = {
  ...{
    jobs: UUID,
    executions: UUID,
    "execution-runs": UUID,
    "dead-letters": UUID,
    workflows: UUID,
    items: UUID,
    webhooks: UUID,
  },
  ...{ deliveries: UUID, requests: UUID, "refused-records": REFUSED_RECORD, "api-keys": UUID },
  ledger: /^\d{1,15}$/,
  nodes: /^\d{1,5}$/,
  ...{ audit: RECORD, "audit-records": RECORD, "audit-anchors": /^\d{1,15}$/ },
  tenants: /^[a-z0-9-]{1,40}$/,
  ...{ workers: /^/, pools: /^/, handlers: /^/ },
};

/** Start of the next page, as an opaque text. */
export function encodeCursor(list: ListKind, after: string | null): string | null {
  return after === null ? null : Buffer.from(`${list}:${after}`).toString("base64url");
}

/**
 * @returns id (or other sort key) after which the page begins; null: the first page. @throws {ProblemError}
 * invalid-cursor
 */
export function decodeCursor(list: ListKind, cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const text = Buffer.from(cursor, "base64url").toString("utf8");
  const after = text.slice(list.length + 1);
  const genuine = encodeCursor(list, after) === cursor && text.startsWith(`${list}:`);
  if (!genuine || !PLACES[list].test(after)) {
    throw new ProblemError(problem("invalid-cursor", "pass nextCursor of the page before as it was, or none"));
  }
  return after;
}
