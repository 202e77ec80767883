import { createHash } from "node:crypto";

/** Digest of 16 bytes that stands for texts: a key of a tenant, or a request. */
export function digestOfTexts(...texts: readonly string[]): Buffer {
  return createHash("sha256").update(texts.join("\u0000")).digest().subarray(0, 16);
}
