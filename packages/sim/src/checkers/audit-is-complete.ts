import { type AuditAnchor, type AuditRecord, AuditVerifier, sha256 } from "@mainspring/server/testing";
import { EPOCH_MS } from "../sim-process.ts";
import { AUDITED_POOL } from "../world/audited-pools.ts";
import { type Checker, Violation } from "./checker.ts";
import type { Quiet } from "./quiet.ts";

/** Time in ms in which an anchor seals a record while nothing is wrong. */
const SEALED_WITHIN_MS = 150_000;

/** The audit log of the store. */
export interface AuditView {
  read(after: AuditRecord | null, limit: number): AuditRecord[];
  anchors(after: number, limit: number): AuditAnchor[];
}

/**
 * Each change of an audited pool has one record that says DONE, and there is no other record. The chains are whole, whatever became of
 * the calls, and anchors seal them.
 * @param audit the log; null: the servers of the world do not seal it
 */
export function auditIsComplete(quiet: Quiet, audit: AuditView | null): Checker {
  const changes = new Map<string, number>();
  const all = () => audit?.read(null, Number.POSITIVE_INFINITY) ?? [];
  return {
    name: "audit is complete",
    saw(event) {
      if (event.kind !== "POOL_SET" || !event.pool.name.startsWith(AUDITED_POOL)) return;
      changes.set(event.pool.name, (changes.get(event.pool.name) ?? 0) + 1);
    },
    looked(nowMs) {
      if (audit === null) return;
      const records = all();
      compare(changes, records);
      const sealed = sealedBy(audit.anchors(0, Number.POSITIVE_INFINITY));
      for (const { chain, seq, at } of records) {
        const sinceMs = Math.max(at - EPOCH_MS, quiet.sinceMs);
        if (nowMs - sinceMs > SEALED_WITHIN_MS && seq > (sealed.get(chain) ?? 0))
          throw new Violation(`no anchor seals record ${seq} of the chain ${chain}`);
      }
    },
    atEnd() {
      if (audit === null) return;
      compare(changes, all());
      const verifier = new AuditVerifier({ digest: sha256, isSigned: null });
      for (const anchor of audit.anchors(0, Number.POSITIVE_INFINITY)) sound(verifier.anchor(anchor));
      for (const record of all()) sound(verifier.record(record));
      sound(verifier.end());
    },
  };
}

function compare(changes: ReadonlyMap<string, number>, records: readonly AuditRecord[]): void {
  const recorded = new Map<string, number>();
  for (const { target, outcome } of records) {
    if (target !== null && outcome === "DONE") recorded.set(target, (recorded.get(target) ?? 0) + 1);
  }
  for (const name of new Set([...changes.keys(), ...recorded.keys()])) {
    const [made, kept] = [changes.get(name) ?? 0, recorded.get(name) ?? 0];
    if (made !== kept) throw new Violation(`the pool ${name} was changed ${made} times, and has ${kept} records`);
  }
}

function sealedBy(anchors: readonly AuditAnchor[]): Map<string, number> {
  const sealed = new Map<string, number>();
  for (const { heads } of anchors)
    for (const { chain, seq } of heads) sealed.set(chain, Math.max(seq, sealed.get(chain) ?? 0));
  return sealed;
}

function sound(fault: ReturnType<AuditVerifier["end"]>): void {
  if (fault !== null) throw new Violation(`${fault.kind} ${fault.where}: ${fault.message}`);
}
