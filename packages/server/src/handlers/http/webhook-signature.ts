import { createHmac } from "node:crypto";

/** Prefix of a secret's base64 in Standard Webhooks. */
const PREFIX = "whsec_";

/**
 * Headers of Standard Webhooks (v1, symmetric).
 * @param secrets each `whsec_` and base64; a receiver accepts the request if it has a signature by one that it knows
 * @param id id that is the same for all attempts, so that the receiver accepts one of them
 * @param timestampSec time of this attempt, in seconds since 1970
 */
export function webhookHeaders(
  secrets: readonly string[],
  id: string,
  timestampSec: number,
  body: string,
): Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestampSec}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": String(timestampSec), "webhook-signature": signatures.join(" ") };
}
