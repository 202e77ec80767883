import { type AuditAnchor, anchorHash, type ChainHead } from "./audit-anchor.ts";
import { type AuditRecord, type Digest, FIRST_PREV, recordHash } from "./audit-record.ts";

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
