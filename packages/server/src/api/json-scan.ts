/**
 * Finds where values lie in a JSON text, so that payloads pass through byte for byte: parsing and writing them again
 * would change what JavaScript cannot hold (numbers beyond its doubles, the order of keys such as "2" and "1").
 *
 * All of it expects JSON that a parser has proven or will prove; on anything else the slices are meaningless, but every
 * function ends.
 */

/** A value's bytes, from `start` up to and not including `end`. */
export interface Slice {
  start: number;
  end: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** How deep arrays and objects are nested: 0 for a number, 1 for `[]`. Needs no valid JSON. */
export function depthOf(json: Buffer): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = stringEnd(json, at) - 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) deepest = Math.max(deepest, ++depth);
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
  }
  return deepest;
}

/** The value of a member of the object that starts at `at`. Of a repeated key the last counts, as for JSON.parse. */
export function memberOf(json: Buffer, at: number, key: string): Slice | null {
  let found: Slice | null = null;
  let next = skipSpace(json, at);
  if (json[next] !== OPEN_BRACE) return null;
  next = skipSpace(json, next + 1);
  while (json[next] === QUOTE) {
    const keyEnd = stringEnd(json, next);
    const matches = isKey(json, next, keyEnd, key);
    const start = skipSpace(json, skipSpace(json, keyEnd) + 1);
    const end = valueEnd(json, start);
    if (matches) found = { start, end };
    next = skipSpace(json, skipSpace(json, end) + 1);
  }
  return found;
}

/** The values of the array that starts at `at`, in order; null if it is none. Of values nothing is proven but their ends. */
export function elementsOf(json: Buffer, at: number): Slice[] | null {
  const slices: Slice[] = [];
  let next = skipSpace(json, at);
  if (json[next] !== OPEN_BRACKET) return null;
  next = skipSpace(json, next + 1);
  if (json[next] === CLOSE_BRACKET) return slices;
  while (next < json.length) {
    const end = valueEnd(json, next);
    const after = skipSpace(json, end);
    if (end === next) return null;
    slices.push({ start: next, end });
    if (json[after] === CLOSE_BRACKET) return slices;
    if (json[after] !== COMMA) return null;
    next = skipSpace(json, after + 1);
  }
  return null;
}

function isKey(json: Buffer, start: number, end: number, key: string): boolean {
  const raw = json.toString("latin1", start + 1, end - 1);
  if (!raw.includes("\\")) return raw === key;
  // A key may be written with escapes: "p\u0061yload" is `payload` too.
  try {
    return JSON.parse(json.toString("utf8", start, end)) === key;
  } catch {
    return false;
  }
}

function valueEnd(json: Buffer, start: number): number {
  const byte = json[start];
  if (byte === QUOTE) return stringEnd(json, start);
  if (byte !== OPEN_BRACE && byte !== OPEN_BRACKET) return scalarEnd(json, start);
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    const inner = json[at];
    if (inner === QUOTE) at = stringEnd(json, at) - 1;
    else if (inner === OPEN_BRACE || inner === OPEN_BRACKET) depth++;
    else if ((inner === CLOSE_BRACE || inner === CLOSE_BRACKET) && --depth === 0) return at + 1;
  }
  return json.length;
}

/** Numbers, true, false and null end where something begins that is no part of them. */
function scalarEnd(json: Buffer, start: number): number {
  let at = start;
  while (at < json.length && !endsScalar(json[at] as number)) at++;
  return at;
}

function endsScalar(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte === COLON || isSpace(byte);
}

/** Behind the closing quote of the string whose opening quote is at `start`. */
function stringEnd(json: Buffer, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    const byte = json[at];
    if (byte === BACKSLASH) at++;
    else if (byte === QUOTE) return at + 1;
  }
  return json.length;
}

function skipSpace(json: Buffer, start: number): number {
  let at = start;
  while (at < json.length && isSpace(json[at] as number)) at++;
  return at;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
