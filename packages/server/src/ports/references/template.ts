import { PART_HEAD_BYTES, PART_TEMPLATE } from "../../domain/workflow/spawned-parts.ts";
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

/** Number of a reference's node that stands for the spawner of the node that refers to it. Only parts have it. */
export const SPAWNER = -2;

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

/**
 * Bytes of a template of a part that has no place in a run. The numbers of its references count from the first node of the
 * part.
 */
export function encodePartTemplate(template: Template): Uint8Array {
  const bytes = encodeTemplate(template);
  const whole = new Uint8Array(PART_HEAD_BYTES + bytes.length);
  whole[0] = PART_TEMPLATE;
  whole.set(bytes, PART_HEAD_BYTES);
  return whole;
}

export function isTemplate(payload: Uint8Array): boolean {
  return payload[0] === MARK || payload[0] === PART_TEMPLATE;
}

/** @param stored bytes for which `isTemplate` holds */
export function decodeTemplate(stored: Uint8Array): Template {
  if (stored[0] === PART_TEMPLATE) return placedTemplate(stored);
  const text = submittedText(stored);
  const tail = stored.subarray(HEAD_BYTES + text.length);
  return { text, edits: JSON.parse(utf8.decode(tail)) as Template["edits"] };
}

/** Template of a part, with the numbers that nodes have in the run. */
function placedTemplate(stored: Uint8Array): Template {
  const head = new DataView(stored.buffer, stored.byteOffset, PART_HEAD_BYTES);
  const [first, spawner] = [head.getUint32(1), head.getUint32(5)];
  const { text, edits } = decodeTemplate(stored.subarray(PART_HEAD_BYTES));
  const placed = (from: number) => (from === SPAWNER ? spawner : from === INPUT ? INPUT : first + from);
  return { text, edits: edits.map((edit) => ("from" in edit ? { ...edit, from: placed(edit.from) } : edit)) };
}

/** JSON text of a stored payload as submitted, with its references. */
export function submittedText(stored: Uint8Array): Uint8Array {
  if (!isTemplate(stored)) return stored;
  if (stored[0] === PART_TEMPLATE) return submittedText(stored.subarray(PART_HEAD_BYTES));
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
