import type { Slice } from "./json-slices.ts";
import type { Path } from "./json-value.ts";

/** Number of a reference's node that stands for the input of the run. */
export const INPUT = -1;

/** Part of a template that another value replaces. */
export interface Edit {
  /** Bytes that are replaced. */
  at: Slice;
  /** Arrays and objects around these bytes. */
  depth: number;
}

/** A reference: the result of a node, or the input of the run, or a part of it. */
export interface ReferenceEdit extends Edit {
  /** Number of the node; INPUT: the input of the run. */
  from: number;
  path: Path;
  /** `$item`: `path` leads to the array of the map, and this path leads on from the item. Left out: no item is meant. */
  item?: Path;
}

/** `$results`: the results of the items of a map. */
export interface ResultsEdit extends Edit {
  /** Number of the map. */
  results: number;
}

/** `$index`: the index of the item. */
export interface IndexEdit extends Edit {
  index: true;
}

/** A `$literal`: a value of the template itself. */
export interface LiteralEdit extends Edit {
  value: Slice;
}

/** A payload with references, or the output of a workflow. */
export interface Template {
  /** JSON text as submitted. */
  text: Uint8Array;
  /** In the order of the text; none is within another. */
  edits: readonly (ReferenceEdit | ResultsEdit | LiteralEdit | IndexEdit)[];
}

/** First byte of a stored template. No JSON text begins with it, so other payloads are stored as they are. */
const MARK = 0;
const HEAD_BYTES = 5;
const utf8 = new TextDecoder();

/** Bytes of a template for the store: the mark, the length of the text, the text, and the edits as JSON. */
export function encodeTemplate({ text, edits }: Template): Uint8Array {
  const tail = new TextEncoder().encode(JSON.stringify(edits));
  const bytes = new Uint8Array(HEAD_BYTES + text.length + tail.length);
  bytes[0] = MARK;
  new DataView(bytes.buffer).setUint32(1, text.length);
  bytes.set(text, HEAD_BYTES);
  bytes.set(tail, HEAD_BYTES + text.length);
  return bytes;
}

export function isTemplate(payload: Uint8Array): boolean {
  return payload[0] === MARK;
}

/** @param stored bytes for which `isTemplate` holds */
export function decodeTemplate(stored: Uint8Array): Template {
  const text = submittedText(stored);
  const tail = stored.subarray(HEAD_BYTES + text.length);
  return { text, edits: JSON.parse(utf8.decode(tail)) as Template["edits"] };
}

/** JSON text of a stored payload as submitted, with its references. */
export function submittedText(stored: Uint8Array): Uint8Array {
  if (!isTemplate(stored)) return stored;
  const { buffer, byteOffset, length } = stored;
  return stored.subarray(HEAD_BYTES, HEAD_BYTES + new DataView(buffer, byteOffset, length).getUint32(1));
}

/** The reference as submitted. */
export function referenceText({ text }: Template, { at }: Edit): string {
  return JSON.stringify(JSON.parse(utf8.decode(text.subarray(at.start, at.end))));
}

/** Text with a value in place of each edit. @param values in the order of the edits */
export function assembled({ text, edits }: Template, values: readonly Uint8Array[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const [i, { at }] of edits.entries()) {
    pieces.push(text.subarray(from, at.start), values[i] as Uint8Array);
    from = at.end;
  }
  pieces.push(text.subarray(from));
  return joined(pieces);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
