import { patternOf } from "./cron-pattern.ts";
import { refuse, refuseAt, type ScheduleRefusal } from "./refusal.ts";

/** One field of an expression, as it was written. */
export interface CronField {
  text: string;
  /** Position of its first character, counted from 1. */
  position: number;
}

interface FieldKind {
  name: string;
  takes: string;
  min: number;
  max: number;
}

/** Characters of an entry that a message repeats. */
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

const NAMES: Readonly<Record<string, readonly string[]>> = {
  month: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
  // A week that is cut in two ends with Sunday.
  "day of week": ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"],
};

/** Which entry of which field is wrong. @param fields five or six that are no expression together */
export function faultIn(fields: readonly CronField[]): ScheduleRefusal {
  const first = KINDS.length - fields.length;
  for (const [index, { text, position }] of fields.entries()) {
    const kind = first + index;
    if (takes(kind, text)) continue;
    const { entry, offset } = firstBadEntry(kind, text);
    const found = KINDS[kind] as FieldKind;
    const advice = remedy(entry, found) ?? `must be ${found.takes}`;
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

function shortened(entry: string): string {
  return entry.length > SHOWN_MAX ? `${entry.slice(0, SHOWN_MAX)}…` : entry;
}

/** FRI-MON, which is two ranges. */
function backwardsNames(entry: string, names: readonly string[]): string | null {
  const [from = "", to = "", ...rest] = entry.toUpperCase().split("-");
  const [first, last] = [names.indexOf(from), names.indexOf(to)];
  if (rest.length > 0 || first < 0 || last < 0 || first <= last) return null;
  const range = (begin: number, end: number) => (begin === end ? names[begin] : `${names[begin]}-${names[end]}`);
  return `runs backwards: write ${range(first, names.length - 1)},${range(0, last)}`;
}

/** For what people write who know other schedulers. */
function remedy(entry: string, { name, min, max }: FieldKind): string | null {
  if (entry === "") return "is no entry: a comma stands between two";
  const named = backwardsNames(entry, NAMES[name] ?? []);
  if (named !== null) return named;
  const step = /^(\d{1,2})\/(\d{1,2})$/.exec(entry);
  if (step !== null && Number(step[1]) <= max) return `lacks the end of its range: write ${step[1]}-${max}/${step[2]}`;
  const [, from, to] = /^(\d{1,2})-(\d{1,2})$/.exec(entry) ?? [];
  const backwards = Number(from) > Number(to) && Number(from) <= max && Number(to) >= min;
  if (!backwards) return null;
  return `runs backwards: write ${from}-${max},${min}-${to}`;
}
