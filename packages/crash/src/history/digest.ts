import { createHash } from "node:crypto";

/** Short digest of a JSON value, which is the same in all parts of the system. */
export function digestOf(value: unknown): string {
  const json = JSON.stringify(value) ?? "";
  return createHash("sha256").update(json).digest("base64url").slice(0, 16);
}
