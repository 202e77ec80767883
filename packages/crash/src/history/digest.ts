import { createHash } from "node:crypto";

/** A short name for a JSON value, the same wherever the value went in between. */
export function digestOf(value: unknown): string {
  const json = JSON.stringify(value) ?? "";
  return createHash("sha256").update(json).digest("base64url").slice(0, 16);
}
