import type { AuditAnchor, AuditNote, AuditRecord, ChainHead } from "../domain/audit/audit-record.ts";
import type { EpochMs } from "../domain/ids.ts";

export type {
  AuditActor,
  AuditAnchor,
  AuditDetail,
  AuditNote,
  AuditRecord,
  ChainHead,
} from "../domain/audit/audit-record.ts";

/**
 * The audit log. Methods of other ports that take an `AuditNote` write its record in the transaction of their change, so there is no
 * change without its record, and no record of a change that did not happen. A call that changes nothing writes no record.
 */
export interface StoreAudit {
  /** Writes records of facts that are no change of the store, all of them or none. @throws {StoreUnavailable} */
  write(notes: readonly AuditNote[]): Promise<void>;
  /** Records by (at, chain, seq), descending, behind `after`. */
  list(filter: AuditFilter, after: AuditPosition | null, limit: number): Promise<AuditRecord[]>;
  /** All records in ascending order of (at, chain, seq), behind `after`. @param limit 1 to 1_000 */
  read(after: AuditPosition | null, limit: number): Promise<AuditRecord[]>;
  /** Anchors in order of their numbers, behind `after`. @param limit 1 to 1_000 */
  anchors(after: number, limit: number): Promise<AuditAnchor[]>;
  /** The newest anchor (null: there is none), and the heads of the chains that have moved since. */
  unsealed(): Promise<Unsealed>;
  /** Adds an anchor. @returns false: there is one of this number already, or of a higher one; nothing was written */
  addAnchor(anchor: AuditAnchor): Promise<boolean>;
  /** Last records of all chains that a removal of the months before `before` would remove, by chain. Empty: there is nothing to remove. */
  removable(before: EpochMs): Promise<ChainHead[]>;
  /** Removes the months that end at or before `before`. An anchor with the floors must be there already. */
  remove(before: EpochMs): Promise<void>;
}

export interface Unsealed {
  last: AuditAnchor | null;
  heads: ChainHead[];
}

export interface AuditPosition {
  at: EpochMs;
  chain: string;
  seq: number;
}

/** Conditions that a record must meet. */
export interface AuditFilter {
  /** null: records of all tenants. */
  tenant: string | null;
  /** Id of an API key. */
  actor?: string;
  action?: string;
  target?: string;
  /** Records at or after. */
  since?: EpochMs;
}
