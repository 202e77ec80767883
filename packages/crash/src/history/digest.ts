import { createHash } from "node:crypto";

/**
 * Short digest of a JSON value, which is the same in all parts of the system. The order of members does not count, because
 * the jsonb of an application's submit has an order of its own.
 */
export function digestOf(value: unknown): string {
  const json = JSON.stringify(value, ordered) ?? "";
  return createHash("sha256").update(json).digest("base64url").slice(0, 16);
}

function ordered(_name: string, value: unknown): unknown {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
