import { firstExecutionId } from "../../../domain/ids.ts";
import type { RequestEnd, RequestId } from "../../../ports/store-requests.ts";

/** Fate of a record. The problem of a refused one is kept apart. */
export interface Entry {
  offset: number;
  id: RequestId;
  end: Extract<RequestEnd, { state: "TAKEN_IN" }> | { state: "REFUSED" };
}

/** Entries of one row. */
export interface EntryPack {
  first: number;
  bytes: Buffer;
}

/** Largest distance of the offsets of a row from its first one, so that the row of an offset is found by a short scan. */
export const SPAN = 4_096;

/** Each entry: the distance from the first offset (2 bytes), flags (1), the id (16), and other ids where a flag says so (32). */
const HEAD_BYTES = 3;
const ID_BYTES = 16;
const NO_ID = "0".repeat(2 * ID_BYTES);
const IS_TAKEN = 1;
const IS_DEDUPLICATED = 2;
const HAS_OTHER_IDS = 4;
const HAS_NO_EXECUTION = 8;

/** Packs entries, which are in order of their offsets, into as few rows as their offsets allow. */
export function packEntries(entries: readonly Entry[]): EntryPack[] {
  const groups: Entry[][] = [];
  for (const entry of entries) {
    const group = groups.at(-1);
    const first = group?.[0]?.offset;
    if (group === undefined || first === undefined || entry.offset - first >= SPAN) groups.push([entry]);
    else group.push(entry);
  }
  return groups.map((group) => packed(group, (group[0] as Entry).offset));
}

function packed(entries: readonly Entry[], first: number): EntryPack {
  // One text for all entries: a write of each id into the bytes costs twice as much.
  let hex = "";
  for (const { offset, id, end } of entries) {
    const isOther = end.state === "TAKEN_IN" && (end.jobId !== id || end.executionId !== firstExecutionId(id));
    hex +=
      (offset - first).toString(16).padStart(4, "0") + flagsOf(end, isOther).toString(16).padStart(2, "0") + digits(id);
    if (isOther) hex += digits(end.jobId) + (end.executionId === null ? NO_ID : digits(end.executionId));
  }
  return { first, bytes: Buffer.from(hex, "hex") };
}

function digits(id: string): string {
  return id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24);
}

/** Entries of a row, in order of their offsets. */
export function readEntries({ first, bytes }: EntryPack): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < bytes.length; ) {
    const offset = first + bytes.readUInt16BE(at);
    const flags = bytes.readUInt8(at + 2);
    const id = readId(bytes, at + HEAD_BYTES);
    at += HEAD_BYTES + ID_BYTES;
    if ((flags & IS_TAKEN) === 0) {
      entries.push({ offset, id, end: { state: "REFUSED" } });
      continue;
    }
    const hasOther = (flags & HAS_OTHER_IDS) !== 0;
    const jobId = hasOther ? readId(bytes, at) : id;
    const executionId = hasOther ? readId(bytes, at + ID_BYTES) : firstExecutionId(id);
    if (hasOther) at += 2 * ID_BYTES;
    const [isNone, deduplicated] = [(flags & HAS_NO_EXECUTION) !== 0, (flags & IS_DEDUPLICATED) !== 0];
    entries.push({
      offset,
      id,
      end: { state: "TAKEN_IN", jobId, executionId: isNone ? null : executionId, deduplicated },
    });
  }
  return entries;
}

function flagsOf(end: Entry["end"], isOther: boolean): number {
  if (end.state === "REFUSED") return 0;
  const none = end.executionId === null ? HAS_NO_EXECUTION : 0;
  return IS_TAKEN | (isOther ? HAS_OTHER_IDS : 0) | none | (end.deduplicated ? IS_DEDUPLICATED : 0);
}

function readId(bytes: Buffer, at: number): string {
  const hex = bytes.toString("hex", at, at + ID_BYTES);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
