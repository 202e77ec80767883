import type { AuditActorKind, AuditOutcome } from "../../../domain/audit/audit-record.ts";
import type { AuditAnchor, AuditDetail, AuditRecord, ChainHead } from "../../../ports/store-audit.ts";
import type { Row } from "../connection/connections.ts";

export const RECORD_COLUMNS = `chain, seq, at, tenant, actor_kind, actor_key, actor_for, action, target, outcome, request_id, address, detail::text,
  encode(prev, 'hex'), encode(hash, 'hex')`;

export const ANCHOR_COLUMNS =
  "number, at, heads::text, floors::text, encode(prev, 'hex'), encode(hash, 'hex'), signature";

/** Values of RECORD_COLUMNS. */
export function insertValues({ actor, ...record }: AuditRecord): unknown[] {
  const { chain, seq, at, tenant, action, target, outcome, requestId, address, detail, prev, hash } = record;
  const who = [actor.kind, actor.keyId, actor.for];
  return [
    chain,
    seq,
    at,
    tenant,
    ...who,
    action,
    target,
    outcome,
    requestId,
    address,
    JSON.stringify(detail),
    prev,
    hash,
  ];
}

type RecordRow = [
  ...[chain: string, seq: number, at: number, tenant: string],
  ...[kind: AuditActorKind, keyId: string | null, actorFor: string | null],
  ...[action: string, target: string | null, outcome: AuditOutcome, requestId: string | null, address: string | null],
  ...[detail: string, prev: string, hash: string],
];

export function recordFrom(row: Row): AuditRecord {
  const [chain, seq, at, tenant, kind, keyId, actorFor, ...rest] = row as RecordRow;
  const [action, target, outcome, requestId, address, detail, prev, hash] = rest;
  const actor = { kind, keyId, for: actorFor };
  const parsed = JSON.parse(detail) as AuditDetail;
  return { chain, seq, at, tenant, actor, action, target, outcome, requestId, address, detail: parsed, prev, hash };
}

export function anchorFrom(row: Row): AuditAnchor {
  const [number, at, heads, floors, prev, hash, signature] = row as [
    ...[number, number, string, string, string, string, string | null],
  ];
  const lists = { heads: JSON.parse(heads) as ChainHead[], floors: JSON.parse(floors) as ChainHead[] };
  return { number, at, ...lists, prev, hash, signature };
}

export function headFrom(row: Row): ChainHead {
  const [chain, seq, hash] = row as [string, number, string];
  return { chain, seq, hash };
}
