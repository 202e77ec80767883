import { createHmac, timingSafeEqual } from "node:crypto";
import type { Incarnation } from "../../domain/ids.ts";
import type { BusReading } from "../mesh/schemas/to-bus.ts";

/** A signed packet of the mesh in a record of Kafka. */
export interface BusEnvelope {
  from: Incarnation;
  to: Incarnation;
  topic: string;
  packet: Buffer;
}

/** Most signatures of a record; a node has at most two secrets. */
const SIGNATURES_MAX = 4;

/** Credentials that nodes sign records with, as they prove themselves on the mesh: the cluster's secrets, or else the API keys. */
export interface BusKeys {
  signedWith: BusReading["signedWith"];
  /** Empty: records are not signed. */
  keys: readonly string[];
}

export function busKeys(secrets: readonly string[], apiKeys: readonly string[]): BusKeys {
  if (secrets.length > 0) return { signedWith: "SECRET", keys: secrets };
  return { signedWith: apiKeys.length > 0 ? "API_KEY" : "NOTHING", keys: apiKeys };
}

/** Headers of a record: who sent it to whom, and one signature for each key. */
export function headersOf({ keys }: BusKeys, envelope: BusEnvelope): Record<string, string> {
  const { from, to } = envelope;
  return {
    from,
    to,
    signatures: signaturesOf(keys, envelope)
      .map((one) => one.toString("base64"))
      .join(","),
  };
}

/** Whether a node with one of the keys has signed the record. */
export function isSigned({ keys }: BusKeys, envelope: BusEnvelope, signatures: string): boolean {
  if (keys.length === 0) return true;
  const expected = signaturesOf(keys, envelope);
  const given = signatures.split(",", SIGNATURES_MAX).map((one) => Buffer.from(one, "base64"));
  return given.some((one) => expected.some((own) => own.length === one.length && timingSafeEqual(own, one)));
}

function signaturesOf(keys: readonly string[], { from, to, topic, packet }: BusEnvelope): Buffer[] {
  // The text ends where JSON ends, so no packet can continue it.
  const text = JSON.stringify(["mainspring bus 1", from, to, topic]);
  return keys.map((key) => createHmac("sha256", key).update(text).update(packet).digest());
}
