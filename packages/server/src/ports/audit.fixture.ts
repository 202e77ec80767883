import { type AuditFault, AuditVerifier } from "@mainspring/contract/audit-log";
import { sha256 } from "./audit-chain.ts";
import type { AuditNote, AuditRecord, StoreAudit } from "./store-audit.ts";

/** A note for tests. */
export function auditNote(sample: Partial<AuditNote> = {}): AuditNote {
  return {
    ...{ tenant: "default", actor: { kind: "OPERATOR", keyId: "environment", for: null }, action: "putPool" },
    ...{ target: "gpu", outcome: "DONE", requestId: "r-1", address: "10.0.0.9", detail: { fields: ["paused"] } },
    ...sample,
  };
}

/** Verifies the whole log of a store. @returns the first fault; null: there is none */
export async function verified(audit: Pick<StoreAudit, "read" | "anchors">): Promise<AuditFault | null> {
  const verifier = new AuditVerifier({ digest: sha256, isSigned: null });
  for (const anchor of await audit.anchors(0, 1_000)) {
    const fault = verifier.anchor(anchor);
    if (fault !== null) return fault;
  }
  for (const record of await allRecords(audit)) {
    const fault = verifier.record(record);
    if (fault !== null) return fault;
  }
  return verifier.end();
}

/** All records in ascending order. */
export async function allRecords(audit: Pick<StoreAudit, "read">): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  for (;;) {
    const page = await audit.read(records.at(-1) ?? null, 100);
    records.push(...page);
    if (page.length < 100) return records;
  }
}
