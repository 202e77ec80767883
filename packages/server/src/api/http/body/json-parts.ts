import { BATCH_JOBS_MAX, PARSED_BYTES_MAX } from "@mainspring/contract/limits";
import { invalid, ProblemError } from "../errors.ts";
import { OversizeJson, parseProven } from "./json-body.ts";
import type { JsonWatcher, Slice } from "./json-scanner.ts";

/** Finds the parts of a body while it arrives, and creates its value once it is complete. */
export interface BodyParts extends JsonWatcher {
  /** Depth in the body of the outermost value that is judged separately. */
  readonly depth: number;
  /** Name of the present position, for error messages. */
  what(): string;
  /** Value of the body, in the form that its schema judges. */
  valueOf(json: Buffer): unknown;
}

/** A body of which one member is not parsed: everything of a job except its payload is. */
export class JobParts implements BodyParts {
  readonly depth = 0;
  /** Position of the payload; null: none. With repeated keys, the last one counts, as in JSON.parse. */
  payload: Slice | null = null;
  readonly #name: string;
  #isPayload = false;

  /** @param name name of the member; default: that of a job's payload */
  constructor(name = "payload") {
    this.#name = name;
  }

  key(json: Buffer, depth: number, start: number, end: number): void {
    if (depth === 1) this.#isPayload = isKey(json, start, end, this.#name);
  }

  value(_json: Buffer, depth: number, start: number, end: number): void {
    if (depth === 1 && this.#isPayload) this.payload = { start, end };
  }

  what(): string {
    return "the body";
  }

  valueOf(json: Buffer): unknown {
    return parseProven(without(json, { start: 0, end: json.length }, this.payload));
  }
}

/** Position of a job of a batch in the body. */
export interface JobSlice extends Slice {
  payload: Slice | null;
}

/** A body with a list of jobs or nodes, which are located first and parsed later, in turns of the event loop. */
export class BatchParts implements BodyParts {
  readonly depth = 2;
  readonly #name: string;
  readonly #max: number;
  /** Members of the body that are not parsed, by name. With repeated keys, the last one counts. */
  readonly #apart: Map<string, Slice | null>;
  #list: Slice | null = null;
  #jobs: JobSlice[] = [];
  #payload: Slice | null = null;
  /** Whether the present value is the list's member of the body, and whether it is a list and so has no keys. */
  #isJobs = false;
  #isList = false;
  #isPayload = false;
  /** Name of the present member of the body, if it is not parsed. */
  #member: string | null = null;

  /**
   * @param name name of the list
   * @param max largest number of its items
   * @param apart names of members of the body that are not parsed either
   */
  constructor(name = "jobs", max = BATCH_JOBS_MAX, apart: readonly string[] = []) {
    this.#name = name;
    this.#max = max;
    this.#apart = new Map(apart.map((member) => [member, null]));
  }

  /** Position of a member that is not parsed; null: the body does not have it. */
  apart(member: string): Slice | null {
    return this.#apart.get(member) ?? null;
  }

  key(json: Buffer, depth: number, start: number, end: number): void {
    if (depth === 1) {
      this.#isJobs = isKey(json, start, end, this.#name);
      this.#isList = this.#isJobs;
      if (this.#isJobs) this.#jobs = [];
      this.#member = [...this.#apart.keys()].find((member) => isKey(json, start, end, member)) ?? null;
    } else if (depth === 2) this.#isList = false;
    else if (depth === 3) this.#isPayload = isKey(json, start, end, "payload");
  }

  value(json: Buffer, depth: number, start: number, end: number): void {
    if (depth === 1 && this.#member !== null) this.#apart.set(this.#member, { start, end });
    if (!this.#isJobs) return;
    if (depth === 3 && this.#isPayload) this.#payload = { start, end };
    else if (depth === 2) this.#endJob(start, end);
    else if (depth === 1) {
      this.#list = this.#isList && json[start] === OPEN_BRACKET ? { start, end } : null;
      this.#isJobs = false;
    }
  }

  #endJob(start: number, end: number): void {
    if (this.#isList) this.#jobs.push({ start, end, payload: this.#payload });
    this.#payload = null;
    this.#isPayload = false;
    if (this.#jobs.length <= this.#max) return;
    const message = `must not have more than ${this.#max} items`;
    throw new ProblemError(invalid([{ field: this.#name, message }]));
  }

  what(): string {
    return this.#isJobs && this.#isList ? `${this.#name}[${this.#jobs.length}]` : "the body";
  }

  /** The body with a `JobSlice` for each item; a body without the list is parsed as it is. */
  valueOf(json: Buffer): unknown {
    if (this.#list === null) return parseProven(json);
    const cuts = [this.#list, ...[...this.#apart.values()].filter((slice) => slice !== null)];
    const rest = parseProven(withoutAll(json, cuts));
    return rest instanceof OversizeJson ? rest : { ...(rest as object), [this.#name]: this.#jobs };
  }
}

/**
 * Parses the jobs of consecutive slices, without their payloads.
 * @param maxBytes largest size of a job that is parsed
 */
export function parseJobs(json: Buffer, slices: readonly JobSlice[], maxBytes = PARSED_BYTES_MAX): unknown[] {
  const texts = slices.map((slice) => without(json, slice, slice.payload));
  if (texts.length === 1) return texts.map((text) => parseProven(text, maxBytes));
  // The jobs are parsed together, because each parse costs as much as a small job.
  return JSON.parse(`[${texts.map((text) => text.toString("utf8")).join(",")}]`) as unknown[];
}

/** Groups the jobs of a batch for parsing: up to a number of bytes, or a single job. */
export function groupsOf(slices: readonly JobSlice[]): JobSlice[][] {
  const groups: JobSlice[][] = [];
  let bytes = Infinity;
  for (const slice of slices) {
    bytes += parsedBytesOf(slice);
    if (bytes > GROUP_BYTES) {
      groups.push([]);
      bytes = parsedBytesOf(slice);
    }
    groups.at(-1)?.push(slice);
  }
  return groups;
}

const GROUP_BYTES = 64 * 1024;

function parsedBytesOf({ start, end, payload }: JobSlice): number {
  return end - start - (payload === null ? 0 : payload.end - payload.start);
}

/** Bytes of a value with `null` in place of a part of it. */
function without(json: Buffer, { start, end }: Slice, part: Slice | null): Buffer {
  if (part === null) return json.subarray(start, end);
  return Buffer.concat([json.subarray(start, part.start), NULL, json.subarray(part.end, end)]);
}

/** The bytes with `null` in place of each of these parts. */
function withoutAll(json: Buffer, parts: readonly Slice[]): Buffer {
  const pieces: Buffer[] = [];
  let from = 0;
  for (const { start, end } of [...parts].sort((a, b) => a.start - b.start)) {
    pieces.push(json.subarray(from, start), NULL);
    from = end;
  }
  return Buffer.concat([...pieces, json.subarray(from)]);
}

const NULL = Buffer.from("null");
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;

function isKey(json: Buffer, start: number, end: number, key: string): boolean {
  // An escaped character takes up to six bytes.
  if (end - start - 2 > key.length * 6) return false;
  const raw = json.subarray(start + 1, end - 1);
  if (!raw.includes(BACKSLASH)) return raw.toString("latin1") === key;
  // A key may contain escapes: "p\u0061yload" is `payload` too.
  return JSON.parse(json.toString("utf8", start, end)) === key;
}
