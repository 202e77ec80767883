import type { AuditRecord } from "@mainspring/sdk";
import { table } from "./output.ts";

/** Records of the audit log for people, one a line. */
export function auditText(records: readonly AuditRecord[]): string {
  if (records.length === 0) return "no records";
  const rows = records.map(({ at, actor, tenant, action, target, outcome, address }) => [
    at,
    actor.keyId === null ? actor.kind : `${actor.kind} ${actor.keyId}`,
    tenant,
    action,
    target ?? "-",
    outcome,
    address ?? "-",
  ]);
  return table(["AT", "ACTOR", "TENANT", "ACTION", "TARGET", "OUTCOME", "ADDRESS"], rows);
}
