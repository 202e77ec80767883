import { createHash } from "node:crypto";

/** A UUID of version 8, which leaves the contents to whoever makes it. */
const DERIVED = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const SECRET_MIN_CHARS = 16;
const SECRET_MAX_CHARS = 128;

/**
 * The id of the worker that has the secret, which cannot be found by the id.
 * @param secret random, of 16 to 128 characters; any other has no id
 */
export function workerIdOf(secret: string): string | null {
  if (secret.length < SECRET_MIN_CHARS || secret.length > SECRET_MAX_CHARS) return null;
  const bytes = createHash("sha256").update(`mainspring worker\n${secret}`).digest().subarray(0, 16);
  bytes[6] = 0x80 | ((bytes[6] as number) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f);
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Whether the id was derived from a secret, which its worker then has to show. */
export function isSecretWorkerId(workerId: string): boolean {
  return DERIVED.test(workerId);
}
