import {
  type AuditDetail,
  type AuditNote,
  type AuditRecord,
  type Digest,
  recordHash,
} from "@mainspring/contract/audit-log";

export {
  type AuditActor,
  type AuditAnchor,
  type AuditDetail,
  type AuditNote,
  type AuditRecord,
  anchorHash,
  type ChainHead,
  canonicalJson,
  FIRST_PREV,
  recordHash,
} from "@mainspring/contract/audit-log";
export type { AuditActorKind, AuditOutcome } from "@mainspring/contract/enums";

/** Largest detail of a record, in bytes of JSON. */
const AUDIT_DETAIL_BYTES_MAX = 2_048;

/** Record of a note at a place of a chain. */
export function recordOf(
  note: AuditNote,
  place: Pick<AuditRecord, "chain" | "seq" | "at" | "prev">,
  digest: Digest,
): AuditRecord {
  const record = { ...note, ...place };
  return { ...record, hash: recordHash(record, digest) };
}

/** Record in place of one whose transaction has failed. */
export function voidRecord(place: Pick<AuditRecord, "chain" | "seq" | "at" | "prev">, digest: Digest): AuditRecord {
  const note: AuditNote = {
    ...{ tenant: "default", actor: { kind: "SYSTEM", keyId: null, for: null }, action: "void", target: null },
    ...{ outcome: "VOID", requestId: null, address: null, detail: {} },
  };
  return recordOf(note, place, digest);
}

/** Shortens the detail of a note to its largest size: lists of names lose their ends, then the detail its lists. */
export function boundedDetail(detail: AuditDetail): AuditDetail {
  if (sizeOf(detail) <= AUDIT_DETAIL_BYTES_MAX) return detail;
  const short = Object.entries(detail).map(([name, value]) => [name, shortened(value)] as const);
  const bounded = Object.fromEntries(short);
  return sizeOf(bounded) <= AUDIT_DETAIL_BYTES_MAX ? bounded : { shortened: true };
}

const LIST_MAX = 8;
const TEXT_MAX = 100;

function shortened(value: AuditDetail[string]): AuditDetail[string] {
  if (typeof value === "string") return value.slice(0, TEXT_MAX);
  if (typeof value !== "object" || value === null) return value;
  return value.slice(0, LIST_MAX).map((text) => text.slice(0, TEXT_MAX));
}

/** Upper bound of the bytes of the JSON: no UTF-16 code unit takes more than three bytes in UTF-8. */
function sizeOf(detail: AuditDetail): number {
  const text = JSON.stringify(detail);
  const isAscii = [...text].every((character) => character <= "~");
  return isAscii ? text.length : text.length * 3;
}
