import { createHmac, timingSafeEqual } from "node:crypto";
import type { Incarnation } from "../../domain/ids.ts";

/**
 * How nodes show each other that they have the same secret, without sending it: each makes a keyed digest of the names of both,
 * of a nonce from each side, and of the side that it is on, so that no proof is of use in another stream, or the other way.
 */

/** One stream, as its two ends know it. */
export interface Encounter {
  from: Incarnation;
  to: Incarnation;
  /** Nonce of the node that opened the stream. */
  fromNonce: string;
  toNonce: string;
}

export type Side = "from" | "to";

/** A node has two secrets at most; more proofs are nobody's. */
const PROOFS_MAX = 4;

/** @returns one for each secret */
export function proofsOf(secrets: readonly string[], side: Side, encounter: Encounter): Uint8Array[] {
  const { from, to, fromNonce, toNonce } = encounter;
  const text = JSON.stringify(["mainspring mesh 1", side, from, to, fromNonce, toNonce]);
  return secrets.map((secret) => createHmac("sha256", secret).update(text).digest());
}

/** Whether the other end, which is on that side, has one of the secrets. */
export function isProven(
  secrets: readonly string[],
  side: Side,
  encounter: Encounter,
  proofs: readonly Uint8Array[],
): boolean {
  const expected = proofsOf(secrets, side, encounter);
  const given = proofs.slice(0, PROOFS_MAX).filter((proof) => proof.length === expected[0]?.length);
  return given.some((proof) => expected.some((own) => timingSafeEqual(own, proof)));
}
