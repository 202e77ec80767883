import type { Readable } from "node:stream";

export interface KeptBody {
  body: string;
  /** Encoding of the body: `base64` if the bytes are no UTF-8 text. */
  encoding: "utf8" | "base64";
  /** Whether the body was longer than the kept part. */
  truncated: boolean;
}

/** Reads until there are more than `maxBytes` bytes, and ignores the rest. */
export async function readBody(stream: Readable, maxBytes: number): Promise<{ bytes: Buffer; isCut: boolean }> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  // Leaving the loop destroys the stream, and with it the connection that would carry the rest.
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: sizeBytes > maxBytes };
}

/**
 * A body as a part of a JSON document.
 * @param jsonBytes size that the text may have there, with its quotes and escapes
 */
export function keptBody(bytes: Buffer, isCut: boolean, jsonBytes: number): KeptBody {
  const text = textOf(bytes, isCut);
  if (text === null) {
    const room = Math.floor((jsonBytes - 2) / 4) * 3;
    return {
      body: bytes.subarray(0, room).toString("base64"),
      encoding: "base64",
      truncated: isCut || bytes.length > room,
    };
  }
  const body = fitting(text, jsonBytes - 2);
  return { body, encoding: "utf8", truncated: isCut || body.length < text.length };
}

/** Text of the bytes; null: they are no text. If the body was cut, its end may be a part of a character. */
function textOf(bytes: Buffer, isCut: boolean): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return null;
  }
}

/** The longest prefix whose JSON is at most `maxBytes` long. */
function fitting(text: string, maxBytes: number): string {
  const sizeBytes = (length: number) => Buffer.byteLength(JSON.stringify(text.slice(0, length))) - 2;
  if (sizeBytes(text.length) <= maxBytes) return text;
  let fits = 0;
  let over = text.length;
  while (over - fits > 1) {
    const middle = Math.floor((fits + over) / 2);
    if (sizeBytes(middle) <= maxBytes) fits = middle;
    else over = middle;
  }
  // Half of a surrogate pair is no character.
  return text.slice(0, fits).replace(/[\uD800-\uDBFF]$/, "");
}
