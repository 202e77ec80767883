import { isNodeName } from "../../domain/workflow/conditions.ts";
import { NODE_REFERENCES_MAX, REFERENCE_NAME_CHARS_MAX, REFERENCE_PATH_MAX } from "../../domain/workflow/definition.ts";
import {
  afterKey,
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  type Slice,
  stringEnd,
  stringIn,
  valueEnd,
} from "./json-slices.ts";
import type { Path } from "./json-value.ts";
import { type Edit, INPUT, type IndexEdit, type LiteralEdit, type ReferenceEdit } from "./template.ts";

const DOLLAR = 0x24;

/** Largest text of a reference that is parsed, in bytes. */
const REFERENCE_BYTES_MAX = 64 * 1024;
/** Largest index in a path. */
const INDEX_MAX = 0xffff_ffff;
const SHOWN_CHARS_MAX = 100;
/** Bytes after which a scan makes a pause. */
const STEP_BYTES = 64 * 1024;
/** References that only nodes of a map have. */
const OF_MAPS = new Set(["$item", "$index"]);

/** A reference with the name of its node; "$input": the input of the run. */
export interface NamedReference extends Omit<ReferenceEdit, "from"> {
  from: string;
}

/** `$item`: the item of the map, or a part of it. */
export interface ItemReference extends Edit {
  item: Path;
}

/** `$results`: the results of the items of a map. */
export interface NamedResults extends Edit {
  /** Name of the map. */
  results: string;
}

export type ScannedEdit = NamedReference | NamedResults | ItemReference | IndexEdit | LiteralEdit;

/** Edits of a text; a text without edits is a plain payload. */
export type ScannedTemplate = { edits: readonly ScannedEdit[] } | { problem: string };

/**
 * Finds the references and literals in a validated JSON text. Every key that begins with `$` is reserved, except within a
 * literal.
 */
export function* scanningTemplate(text: Uint8Array): Generator<undefined, ScannedTemplate> {
  const scan = new TemplateScan(text);
  try {
    for (let until = STEP_BYTES; !scan.passTo(until); until += STEP_BYTES) yield;
    return { edits: scan.edits };
  } catch (error) {
    if (error instanceof BadTemplate) return { problem: error.message };
    throw error;
  }
}

/** Number of a node by its name; INPUT for the input of the run. @returns undefined: there is no such node */
export function numberOf(from: string, numbers: ReadonlyMap<string, number>): number | undefined {
  return from === "$input" ? INPUT : numbers.get(from);
}

class BadTemplate extends Error {
  override readonly name = "BadTemplate";
}

/** An array or object around the present position. */
interface Frame {
  start: number;
  isObject: boolean;
  /** Whether the next string is a key. */
  awaitsKey: boolean;
  keys: number;
  /** First key that begins with `$`; null: none so far. */
  reserved: string | null;
  /** Value of `$literal`. */
  literal: Slice | null;
}

class TemplateScan {
  readonly edits: ScannedEdit[] = [];
  readonly #text: Buffer;
  readonly #frames: Frame[] = [];
  #at = 0;

  constructor({ buffer, byteOffset, length }: Uint8Array) {
    this.#text = Buffer.from(buffer, byteOffset, length);
  }

  /** @returns whether the text has ended @throws {BadTemplate} */
  passTo(until: number): boolean {
    const text = this.#text;
    const stop = Math.min(until, text.length);
    while (this.#at < stop) {
      const byte = text[this.#at] as number;
      if (byte === QUOTE) this.#passString();
      else {
        this.#at++;
        if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#open(byte === OPEN_BRACE);
        else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#close();
        else if (byte === COMMA) this.#awaitKey();
      }
    }
    return this.#at >= text.length;
  }

  #open(isObject: boolean): void {
    const start = this.#at - 1;
    this.#frames.push({ start, isObject, awaitsKey: isObject, keys: 0, reserved: null, literal: null });
  }

  #awaitKey(): void {
    const frame = this.#frames.at(-1);
    if (frame !== undefined) frame.awaitsKey = frame.isObject;
  }

  #passString(): void {
    const start = this.#at;
    const end = stringEnd(this.#text, start);
    this.#at = end;
    const frame = this.#frames.at(-1);
    if (frame?.awaitsKey !== true) return;
    frame.awaitsKey = false;
    frame.keys++;
    // An escape may stand for the first character.
    const first = this.#text[start + 1];
    if (first === DOLLAR || first === BACKSLASH) this.#passKey(frame, stringIn(this.#text, { start, end }));
  }

  #passKey(frame: Frame, key: string): void {
    if (!key.startsWith("$")) return;
    frame.reserved ??= key;
    if (key !== "$literal") return;
    const start = afterKey(this.#text, this.#at);
    this.#at = valueEnd(this.#text, start);
    frame.literal = { start, end: this.#at };
  }

  #close(): void {
    const frame = this.#frames.pop();
    if (frame === undefined || frame.reserved === null) return;
    const at = { start: frame.start, end: this.#at };
    const edit = { at, depth: this.#frames.length };
    this.edits.push(this.#reservedEdit(frame, frame.reserved, edit));
    if (this.edits.length > NODE_REFERENCES_MAX) {
      throw new BadTemplate(`has more than ${NODE_REFERENCES_MAX} references and literals`);
    }
  }

  #reservedEdit(frame: Frame, key: string, edit: Edit): ScannedEdit {
    if (key === "$from") return { ...edit, ...this.#reference(edit) };
    if (frame.literal !== null && frame.keys === 1) return { ...edit, value: frame.literal };
    if (key === "$literal")
      throw new BadTemplate('has the key "$literal" beside other keys of an object: it stands alone');
    if (OF_MAPS.has(key)) return { ...edit, ...this.#ofItem(edit, key) };
    if (key === "$results") return { ...edit, results: this.#mapOf(edit) };
    throw new BadTemplate(
      `has the key ${shown(key)}: keys that begin with $ are reserved; {"$literal": …} takes any value as it is`,
    );
  }

  /** @throws {BadTemplate} the object of the edit is no `$item` or `$index` */
  #ofItem({ at: { start, end } }: Edit, key: string): { item: Path } | { index: true } {
    if (end - start > REFERENCE_BYTES_MAX) throw new BadTemplate(`has a reference of ${end - start} bytes`);
    const text = this.#text.toString("utf8", start, end);
    const { $item, $index, path = [], ...rest } = JSON.parse(text) as Record<string, unknown>;
    const about = `has the reference ${shown(text)}`;
    if (Object.keys(rest).length > 0) throw new BadTemplate(`${about}: beside ${key} it takes nothing but a path`);
    if (key === "$item" && $item === true && $index === undefined) {
      checkPath(path, about);
      return { item: path as Path };
    }
    if (key === "$index" && $index === true && $item === undefined && text.indexOf('"path"') === -1)
      return { index: true };
    throw new BadTemplate(`${about}: {"$item": true} with a path or without, and {"$index": true} are taken`);
  }

  /** @returns name of the map @throws {BadTemplate} the object of the edit is no `$results` */
  #mapOf({ at: { start, end } }: Edit): string {
    if (end - start > REFERENCE_BYTES_MAX) throw new BadTemplate(`has a reference of ${end - start} bytes`);
    const text = this.#text.toString("utf8", start, end);
    const { $results: map, ...rest } = JSON.parse(text) as Record<string, unknown>;
    const [other] = Object.keys(rest);
    const about = `has the reference ${shown(text)}`;
    if (other !== undefined) throw new BadTemplate(`${about}, with the key ${shown(other)}: it takes $results alone`);
    if (typeof map !== "string" || !isNodeName(map)) throw new BadTemplate(`${about}: $results is the name of a map`);
    return map;
  }

  /** @throws {BadTemplate} the object of the edit is no reference */
  #reference({ at: { start, end } }: Edit): { from: string; path: Path } {
    if (end - start > REFERENCE_BYTES_MAX) throw new BadTemplate(`has a reference of ${end - start} bytes`);
    const text = this.#text.toString("utf8", start, end);
    const { $from: from, path = [], ...rest } = JSON.parse(text) as Record<string, unknown>;
    const [other] = Object.keys(rest);
    const about = `has the reference ${shown(text)}`;
    if (other !== undefined) throw new BadTemplate(`${about}, with the key ${shown(other)}: it takes $from and path`);
    if (typeof from !== "string" || (from !== "$input" && from !== "$spawner" && !isNodeName(from)))
      throw new BadTemplate(`${about}: $from is the name of a node, or "$input"`);
    checkPath(path, about);
    return { from, path: path as Path };
  }
}

/** @throws {BadTemplate} */
function checkPath(path: unknown, about: string): void {
  if (!Array.isArray(path) || path.length > REFERENCE_PATH_MAX || !path.every(isStep)) {
    throw new BadTemplate(`${about}: path is a list of up to ${REFERENCE_PATH_MAX} names and indexes`);
  }
}

function isStep(step: unknown): boolean {
  if (typeof step === "string") return step.length <= REFERENCE_NAME_CHARS_MAX;
  return Number.isInteger(step) && (step as number) >= 0 && (step as number) <= INDEX_MAX;
}

function shown(text: string): string {
  return text.length <= SHOWN_CHARS_MAX ? text : `${text.slice(0, SHOWN_CHARS_MAX)}…`;
}
