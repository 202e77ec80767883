import { createHmac, timingSafeEqual } from "node:crypto";
import type { Incarnation } from "../../domain/ids.ts";

/**
 * Proofs with which two nodes show each other that they have the same secret, without sending it. Each node computes a
 * keyed digest of both names, of a nonce from each side, and of its own side, so that a proof is useless in another
 * stream or in the other direction.
 */

/** One stream, described by data that both ends know. */
export interface Encounter {
  from: Incarnation;
  to: Incarnation;
  /** Nonce of the node that opened the stream. */
  fromNonce: string;
  toNonce: string;
}

export type Side = "from" | "to";

/** Largest number of proofs; a node has at most two secrets. */
const PROOFS_MAX = 4;

/** @returns one proof for each secret */
export function proofsOf(secrets: readonly string[], side: Side, encounter: Encounter): Uint8Array[] {
  const { from, to, fromNonce, toNonce } = encounter;
  const text = JSON.stringify(["mainspring mesh 1", side, from, to, fromNonce, toNonce]);
  return secrets.map((secret) => createHmac("sha256", secret).update(text).digest());
}

/** Whether the node at the other side has one of the secrets. */
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
