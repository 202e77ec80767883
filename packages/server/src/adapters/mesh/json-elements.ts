/** Part of a text: from `start`, up to but not including `end`. */
export interface Slice {
  start: number;
  end: number;
}

/** Number of bytes that one step examines. */
const STEP_BYTES = 256 * 1024;

/**
 * Finds the elements of a JSON list, or the members of an object, without parsing them; the parser does that later.
 * Each null is a step in which no element ended.
 * @param whole the list or object, with its brackets
 * @throws {SyntaxError} the text is neither, or does not end
 */
export function* elementsOf(text: Buffer, whole: Slice): Generator<Slice | null> {
  const outer = trimmed(text, whole);
  let start = outer.start + 1;
  let depth = 0;
  let step = outer.start + STEP_BYTES;
  for (let at = outer.start; at < outer.end; at++) {
    const byte = text[at];
    if (byte === QUOTE) at = endOfText(text, at, outer.end);
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth++;
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth--;
    if (depth === 0) {
      if (at !== outer.end - 1 || byte !== closing(text[outer.start])) break;
      if (start < at) yield { start, end: at };
      return;
    }
    if (byte === COMMA && depth === 1) {
      yield { start, end: at };
      start = at + 1;
    } else if (at >= step) yield null;
    if (at >= step) step = at + STEP_BYTES;
  }
  throw new SyntaxError("the text is no whole list or object");
}

function closing(bracket: number | undefined): number {
  return bracket === OPEN_BRACKET ? CLOSE_BRACKET : CLOSE_BRACE;
}

/** The slice without whitespace at its ends. */
export function trimmed(text: Buffer, { start, end }: Slice): Slice {
  while (start < end && isBlank(text[start])) start++;
  while (start < end && isBlank(text[end - 1])) end--;
  return { start, end };
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** @returns position of the closing quote */
export function endOfText(text: Buffer, open: number, end: number): number {
  for (let at = open + 1; at < end; at++) {
    if (text[at] === BACKSLASH) at++;
    else if (text[at] === QUOTE) return at;
  }
  return end;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
