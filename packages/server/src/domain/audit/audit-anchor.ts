import type { EpochMs } from "../ids.ts";
import { canonicalJson, type Digest } from "./audit-record.ts";

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

export function anchorHash(
  { number, at, heads, floors, prev }: Omit<AuditAnchor, "hash" | "signature">,
  digest: Digest,
): string {
  return digest(prev + canonicalJson({ number, at, heads, floors }));
}
