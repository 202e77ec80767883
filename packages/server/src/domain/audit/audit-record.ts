import type { AuditActorKind, AuditOutcome } from "@mainspring/contract/enums";
import type { EpochMs } from "../ids.ts";

export type { AuditActorKind, AuditOutcome } from "@mainspring/contract/enums";

/** The principal of a change. */
export interface AuditActor {
  /** Kind of the key. SYSTEM: a server, or a program that works on the store. UNKNOWN: nobody who is known. */
  kind: AuditActorKind;
  /** Id of the API key, as `Principal.keyId`; null: the actor has none. */
  keyId: string | null;
  /** Tenant for which an operator acts; null: its own. */
  for: string | null;
}

/** Further facts of a record: names of changed fields, counts and ids. They never contain a payload or a secret. */
export type AuditDetail = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

/** A fact to be recorded. */
export interface AuditNote {
  tenant: string;
  actor: AuditActor;
  /** Operation of the API's document, such as `putPool`, or an action of the server, such as `startNode`. */
  action: string;
  /** Id or name of the object; null: there is none. */
  target: string | null;
  /** DONE: the change is durable. REFUSED: a server refused it. VOID: the transaction of the record in this place has failed. */
  outcome: AuditOutcome;
  /** Id of the request; null: no request. */
  requestId: string | null;
  /** Address of the caller; null: there is none. */
  address: string | null;
  /** At most `AUDIT_DETAIL_BYTES_MAX` bytes of JSON. */
  detail: AuditDetail;
}

/** Largest detail of a record, in bytes of JSON. */
const AUDIT_DETAIL_BYTES_MAX = 2_048;

/** A record of a chain. Each node life has a chain of its own. */
export interface AuditRecord extends AuditNote {
  /** UUID of the chain. */
  chain: string;
  /** Place in the chain, from 1 on, without gaps. */
  seq: number;
  /** Time of the record by the store's clock. It never falls within a chain. */
  at: EpochMs;
  /** Hash of the record before; of the first one `FIRST_PREV`. 64 hexadecimal digits. */
  prev: string;
  /** SHA-256 of `prev` and the canonical JSON of all other fields; see `recordHash`. */
  hash: string;
}

/** `prev` of the first record of a chain. */
export const FIRST_PREV = "0".repeat(64);

/** SHA-256 of a text in UTF-8, as 64 hexadecimal digits. */
export type Digest = (text: string) => string;

/** JSON with the keys of all objects in order of their UTF-16 code units, without spaces, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(",")}}`;
}

/** Hash of a record: SHA-256 of the 64 digits of `prev`, followed by the canonical JSON of all fields but `prev` and `hash`. */
export function recordHash(
  { hash: _hash, prev, ...fields }: Omit<AuditRecord, "hash"> & { hash?: string },
  digest: Digest,
): string {
  return digest(prev + canonicalJson(fields));
}

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
