import type { AuditActorKind, AuditOutcome } from "./enums.ts";

/** Records and anchors of the audit log, their hashes, and their verification: what the server writes, and what each verifier must compute likewise. */

/** A time in milliseconds since 1970, as the hashes have it. */
type EpochMs = number;

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
export function recordHash(record: HashedRecord, digest: Digest): string {
  return digest(recordText(record));
}

type HashedRecord = Omit<AuditRecord, "hash"> & { hash?: string };

/** Text of which the hash of a record is the digest. */
export function recordText({ hash: _hash, prev, ...fields }: HashedRecord): string {
  return prev + canonicalJson(fields);
}

/** Last record of a chain. */
export interface ChainHead {
  chain: string;
  seq: number;
  hash: string;
}

/**
 * A seal of all chains. Each anchor has the hash of the anchor before, so the heads of chains that have not moved since are sealed, too.
 */
export interface AuditAnchor {
  /** Number from 1 on, without gaps. */
  number: number;
  /** Time of the anchor by the store's clock. */
  at: EpochMs;
  /** Heads of the chains that have moved since the anchor before, by chain. */
  heads: readonly ChainHead[];
  /** Last records of chains that retention removed with this anchor. The records up to them are not missed. */
  floors: readonly ChainHead[];
  /** Hash of the anchor before; of the first one `FIRST_PREV`. */
  prev: string;
  /** SHA-256 of `prev` and the canonical JSON of number, time, heads and floors. */
  hash: string;
  /** Ed25519 signature of the 64 digits of `hash`, in base64; null: the node has no key. */
  signature: string | null;
}

export function anchorHash(anchor: Omit<AuditAnchor, "hash" | "signature">, digest: Digest): string {
  return digest(anchorText(anchor));
}

/** Text of which the hash of an anchor is the digest. */
export function anchorText({ number, at, heads, floors, prev }: Omit<AuditAnchor, "hash" | "signature">): string {
  return prev + canonicalJson({ number, at, heads, floors });
}

/** A fault of the audit log. */
export interface AuditFault {
  /**
   * EDITED: the record has another content than it was written with. GAP: records before it are missing. BROKEN: it does not follow the
   * record before. ORDER: it is older than the record before. CUT: records at the end of the chain are missing. OTHER: a record that was
   * sealed is another one. ANCHOR: the anchor itself is wrong, or missing. UNSIGNED: the signature is wrong, or missing.
   */
  kind: "EDITED" | "GAP" | "BROKEN" | "ORDER" | "CUT" | "OTHER" | "ANCHOR" | "UNSIGNED";
  /** Place, such as `record 7 of the chain …`. */
  where: string;
  /** For people. */
  message: string;
}

export interface VerifierParts {
  digest: Digest;
  /** Whether a signature belongs to a hash; null: signatures are not verified. */
  isSigned: ((anchor: AuditAnchor) => boolean) | null;
}

interface Chain {
  seq: number;
  hash: string;
  at: number;
}

/**
 * Verifies an audit log: first its anchors, and further ones that were kept elsewhere; then its records, those of each chain in order;
 * then whether the chains reach as far as the anchors say. Memory grows with chains and anchors, not with records.
 */
export class AuditVerifier {
  readonly #parts: VerifierParts;
  readonly #chains = new Map<string, Chain>();
  /** Sealed hashes by chain and seq. */
  readonly #sealed = new Map<string, Map<number, string>>();
  readonly #floors = new Map<string, ChainHead>();
  readonly #anchors = new Map<number, AuditAnchor>();
  /** Chains of which records before `since` were left out. */
  readonly #isPartial: boolean;
  records = 0;

  /** @param isPartial whether the first records of chains are left out; default: all records are given */
  constructor(parts: VerifierParts, isPartial = false) {
    this.#parts = parts;
    this.#isPartial = isPartial;
  }

  get anchors(): number {
    return this.#anchors.size;
  }

  get chains(): number {
    return this.#chains.size;
  }

  /** Takes the next anchor of the log. */
  anchor(anchor: AuditAnchor): AuditFault | null {
    const before = this.#anchors.get(anchor.number - 1);
    const fault = this.#anchorFault(anchor, before);
    if (fault !== null) return fault;
    this.#anchors.set(anchor.number, anchor);
    this.#seal(anchor);
    return null;
  }

  /** Takes an anchor that was kept elsewhere, after all anchors of the log. */
  keptAnchor(kept: AuditAnchor): AuditFault | null {
    const where = `anchor ${kept.number}`;
    if (anchorHash(kept, this.#parts.digest) !== kept.hash)
      return { kind: "ANCHOR", where, message: "the kept copy has another content than it was written with" };
    const own = this.#anchors.get(kept.number);
    if (own === undefined) {
      this.#seal(kept);
      return { kind: "ANCHOR", where, message: "the log lacks the anchor, of which there is a kept copy" };
    }
    if (own.hash !== kept.hash)
      return { kind: "ANCHOR", where, message: "the log has another anchor than the kept copy" };
    return null;
  }

  /** Takes the next record. Records of one chain come in order. */
  record(record: AuditRecord): AuditFault | null {
    this.records++;
    const fault = this.#recordFault(record);
    const { chain, seq, hash, at } = record;
    this.#chains.set(chain, { seq, hash, at });
    return fault;
  }

  /** Called after the last record. @returns the first chain that does not reach its anchors; null: all do */
  end(): AuditFault | null {
    for (const [chain, sealed] of this.#sealed) {
      const last = Math.max(...sealed.keys());
      const reached = this.#chains.get(chain)?.seq ?? 0;
      if (reached >= last || (this.#floors.get(chain)?.seq ?? 0) >= last) continue;
      const isOld = this.#isPartial && !this.#chains.has(chain);
      if (isOld) continue;
      const what = `an anchor seals record ${last}, and the last one is ${reached === 0 ? "none" : reached}`;
      return { kind: "CUT", where: placeOf(chain, reached + 1), message: `records at the end are missing: ${what}` };
    }
    return null;
  }

  #anchorFault(anchor: AuditAnchor, before: AuditAnchor | undefined): AuditFault | null {
    const where = `anchor ${anchor.number}`;
    if (anchor.number !== this.#anchors.size + 1)
      return { kind: "ANCHOR", where, message: `anchor ${this.#anchors.size + 1} is missing` };
    if (anchor.prev !== (before?.hash ?? FIRST_PREV))
      return { kind: "ANCHOR", where, message: "it does not follow the anchor before" };
    if (anchorHash(anchor, this.#parts.digest) !== anchor.hash)
      return { kind: "ANCHOR", where, message: "its content is not the one that it was written with" };
    if (this.#parts.isSigned?.(anchor) === false)
      return { kind: "UNSIGNED", where, message: "its signature is missing, or not that of the key" };
    return null;
  }

  #seal({ heads, floors }: AuditAnchor): void {
    for (const { chain, seq, hash } of [...heads, ...floors]) {
      const sealed = this.#sealed.get(chain) ?? new Map<number, string>();
      this.#sealed.set(chain, sealed.set(seq, hash));
    }
    for (const floor of floors) {
      if (floor.seq >= (this.#floors.get(floor.chain)?.seq ?? 0)) this.#floors.set(floor.chain, floor);
    }
  }

  #recordFault(record: AuditRecord): AuditFault | null {
    const { chain, seq, at, prev, hash } = record;
    const where = placeOf(chain, seq);
    const before = this.#chains.get(chain) ?? this.#startOf(record);
    if (seq !== before.seq + 1) {
      const isRepeat = seq <= before.seq;
      const message = isRepeat ? `it comes after record ${before.seq}` : `record ${before.seq + 1} is missing`;
      return { kind: isRepeat ? "ORDER" : "GAP", where, message };
    }
    if (recordHash(record, this.#parts.digest) !== hash)
      return { kind: "EDITED", where, message: "its content is not the one that it was written with" };
    if (prev !== before.hash) return { kind: "BROKEN", where, message: "it does not follow the record before" };
    if (at < before.at) return { kind: "ORDER", where, message: "it is older than the record before" };
    const sealed = this.#sealed.get(chain)?.get(seq);
    if (sealed !== undefined && sealed !== hash)
      return { kind: "OTHER", where, message: "an anchor seals another record in its place" };
    return null;
  }

  /** Place before the first record of a chain. */
  #startOf({ chain, seq, prev }: AuditRecord): Chain {
    if (this.#isPartial) return { seq: seq - 1, hash: prev, at: 0 };
    const floor = this.#floors.get(chain);
    return floor === undefined ? { seq: 0, hash: FIRST_PREV, at: 0 } : { ...floor, at: 0 };
  }
}

function placeOf(chain: string, seq: number): string {
  return `record ${seq} of the chain ${chain}`;
}

/** A log to be verified. */
interface ReadLog {
  anchors: AsyncIterable<AuditAnchor>;
  /** Anchors that were kept elsewhere. */
  kept: readonly AuditAnchor[];
  records: AsyncIterable<AuditRecord>;
}

/** Reads a log up to its first fault. @param isWhole whether `records` has the end of the log; default: it has */
export async function firstFault(
  verifier: AuditVerifier,
  { anchors, kept, records }: ReadLog,
  isWhole: () => boolean = () => true,
): Promise<AuditFault | null> {
  for await (const anchor of anchors) {
    const fault = verifier.anchor(anchor);
    if (fault !== null) return fault;
  }
  let missing: AuditFault | null = null;
  for (const anchor of kept) missing ??= verifier.keptAnchor(anchor);
  for await (const record of records) {
    const fault = verifier.record(record);
    if (fault !== null) return fault;
  }
  // A missing end of a chain says more than the missing anchor that seals it.
  return (isWhole() ? verifier.end() : null) ?? missing;
}

/** A record or an anchor of an answer of the API, with its time in milliseconds, as the hash has it. */
export function inMs<T extends { at: string }>(one: T): Omit<T, "at"> & { at: EpochMs } {
  return { ...one, at: Date.parse(one.at) };
}

/** Anchors in lines of a server's log or of an export. Other lines are skipped. */
export function anchorsIn(text: string): AuditAnchor[] {
  return text.split("\n").flatMap((line) => {
    const anchor = line.includes('"auditAnchor"') ? anchorOf(line) : undefined;
    if (anchor === undefined) return [];
    // A server logs the time as it is in the hash, an export as the API has it.
    return typeof anchor.at === "number" ? { ...anchor, at: anchor.at } : inMs({ ...anchor, at: anchor.at });
  });
}

function anchorOf(line: string): (Omit<AuditAnchor, "at"> & { at: number | string }) | undefined {
  try {
    return JSON.parse(line).auditAnchor;
  } catch {
    return undefined;
  }
}
