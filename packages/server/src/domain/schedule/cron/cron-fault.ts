import { refuse, refuseAt, type ScheduleRefusal } from "../refusal.ts";
import { patternOf } from "./cron-pattern.ts";
import { type EntryKind, remedyFor } from "./cron-remedy.ts";

/** One field of an expression, as written. */
export interface CronField {
  text: string;
  /** Position of the field's first character, counted from 1. */
  position: number;
}

interface FieldKind extends EntryKind {
  takes: string;
}

/** Number of characters of an entry that a message quotes. */
const SHOWN_MAX = 24;
const RANGES = "a range 1-5, a step */2 or 1-9/2, or a list of these with commas";
const KINDS: readonly FieldKind[] = [
  { name: "second", takes: `0 to 59, *, ${RANGES}`, min: 0, max: 59 },
  { name: "minute", takes: `0 to 59, *, ${RANGES}`, min: 0, max: 59 },
  { name: "hour", takes: `0 to 23, *, ${RANGES}`, min: 0, max: 23 },
  { name: "day of month", takes: `1 to 31, *, L (the last), LW (the last weekday), 15W, ${RANGES}`, min: 1, max: 31 },
  { name: "month", takes: `1 to 12 or JAN to DEC, *, ${RANGES}`, min: 1, max: 12 },
  {
    name: "day of week",
    takes: `0 to 7 (0 and 7: Sunday) or SUN to SAT, *, MON#2, FRIL (the last), ${RANGES}`,
    min: 0,
    max: 7,
  },
];

/**
 * Finds the entry that is wrong, and its field.
 * @param fields five or six fields that are not a valid expression together
 */
export function faultIn(fields: readonly CronField[]): ScheduleRefusal {
  const first = KINDS.length - fields.length;
  for (const [index, { text, position }] of fields.entries()) {
    const kind = first + index;
    if (takes(kind, text)) continue;
    const { entry, offset } = strayQuestionMark(text) ?? firstBadEntry(kind, text);
    const found = KINDS[kind] as FieldKind;
    const advice = remedyFor(entry, found) ?? `must be ${found.takes}`;
    return refuseAt("schedule", found.name, position + offset, `"${shortened(entry)}" ${advice}`);
  }
  return refuse("schedule", "is no cron expression, though each of its fields could be of one");
}

function takes(kind: number, text: string): boolean {
  return text !== "" && patternOf(KINDS.map((_, index) => (index === kind ? text : "*"))) !== null;
}

/** Finds the bad entry of a list: the shortest bad prefix of the list ends with it. */
function firstBadEntry(kind: number, text: string): { entry: string; offset: number } {
  const entries = text.split(",");
  let [good, bad] = [0, entries.length];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (takes(kind, entries.slice(0, middle).join(","))) good = middle;
    else bad = middle;
  }
  const offset = entries.slice(0, good).join(",").length + (good > 0 ? 1 : 0);
  return { entry: entries[good] as string, offset };
}

/** Finds a "?" in a list. It means any day, and must stand alone. */
function strayQuestionMark(text: string): { entry: string; offset: number } | null {
  const entries = text.split(",");
  const index = entries.indexOf("?");
  if (index < 0 || entries.length === 1) return null;
  return { entry: "?", offset: entries.slice(0, index).join(",").length + (index > 0 ? 1 : 0) };
}

function shortened(entry: string): string {
  return entry.length > SHOWN_MAX ? `${entry.slice(0, SHOWN_MAX)}…` : entry;
}
