/** Positions of values in JSON texts that were validated before; in another text they are wrong. Positions count bytes. */

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
/** Bit in which `[` and `{`, and `]` and `}`, differ. */
const CASE = 0x20;

/** Bytes of a value, from `start` up to but not including `end`. */
export interface Slice {
  start: number;
  end: number;
}

export function isObject(json: Uint8Array, at: number): boolean {
  return json[at] === OPEN_BRACE;
}

export function isArray(json: Uint8Array, at: number): boolean {
  return json[at] === OPEN_BRACKET;
}

/** First position from `at` on that is no white space. */
export function skipSpace(json: Uint8Array, at: number): number {
  let next = at;
  while ((json[next] as number) <= 0x20) next++;
  return next;
}

/** Position after the string that begins at `at`. */
export function stringEnd(json: Uint8Array, at: number): number {
  let next = at + 1;
  while (next < json.length && json[next] !== QUOTE) next += json[next] === BACKSLASH ? 2 : 1;
  return next + 1;
}

/** Position after the value that begins at `at`. */
export function valueEnd(json: Uint8Array, at: number): number {
  const first = json[at] as number;
  if (first === QUOTE) return stringEnd(json, at);
  return (first | CASE) === OPEN_BRACE ? containerEnd(json, at) : scalarEnd(json, at);
}

function containerEnd(json: Uint8Array, at: number): number {
  let depth = 0;
  for (let next = at; next < json.length; next++) {
    const byte = json[next] as number;
    if (byte === QUOTE) next = stringEnd(json, next) - 1;
    else if ((byte | CASE) === OPEN_BRACE) depth++;
    else if ((byte | CASE) === CLOSE_BRACE && --depth === 0) return next + 1;
  }
  return json.length;
}

function scalarEnd(json: Uint8Array, at: number): number {
  let next = at;
  for (; next < json.length; next++) {
    const byte = json[next] as number;
    if (byte === COMMA || byte <= 0x20 || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) break;
  }
  return next;
}

/** Number of arrays and objects around the innermost value of a slice; 0 for a number, 1 for `[]`. */
export function depthOf(json: Uint8Array, { start, end }: Slice): number {
  let depth = 0;
  let deepest = 0;
  for (let at = start; at < end; at++) {
    const byte = json[at] as number;
    if (byte === QUOTE) at = stringEnd(json, at) - 1;
    else if ((byte | CASE) === OPEN_BRACE) deepest = Math.max(deepest, ++depth);
    else if ((byte | CASE) === CLOSE_BRACE) depth--;
  }
  return deepest;
}

/** Text of the string in a slice with its quotes. */
export function stringIn(json: Buffer, { start, end }: Slice): string {
  const text = json.toString("utf8", start, end);
  return text.includes("\\") ? (JSON.parse(text) as string) : text.slice(1, -1);
}

/** Start of the value after the key that ends at `at`. */
export function afterKey(json: Uint8Array, at: number): number {
  return skipSpace(json, skipSpace(json, at) + 1);
}

/** Start of the next item of an array or object after the value that ends at `at`; null: the container ends. */
export function nextItem(json: Uint8Array, at: number): number | null {
  const next = skipSpace(json, at);
  return json[next] === COMMA ? skipSpace(json, next + 1) : null;
}

/** Start of the first item of the array or object that begins at `at`; null: it is empty. */
export function firstItem(json: Uint8Array, at: number): number | null {
  const next = skipSpace(json, at + 1);
  return ((json[next] as number) | CASE) === CLOSE_BRACE ? null : next;
}
