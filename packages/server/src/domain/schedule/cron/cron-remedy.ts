/** Properties of a field on which its remedies depend. */
export interface EntryKind {
  name: string;
  min: number;
  max: number;
}

/** First or last value of a range. */
interface Bound {
  value: number;
  isName: boolean;
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const WEEKDAY_FIELD = "day of week";

/**
 * Explanation of an entry that is valid in other schedulers, with its correct form; null: the entry is none of these.
 */
export function remedyFor(entry: string, kind: EntryKind): string | null {
  if (entry === "") return "is no entry: a comma stands between two";
  if (kind.name === WEEKDAY_FIELD && entry.toUpperCase() === "L")
    return "names no weekday: write FRIL (the last Friday), or L as the day of month (its last day)";
  if (kind.name.startsWith("day") && entry === "?") return "stands for any day, and alone: leave it out of the list";
  return lacksEnd(entry, kind) ?? runsBackwards(entry, kind);
}

/** Explains 5/15 and MON/2, which other schedulers accept. */
function lacksEnd(entry: string, kind: EntryKind): string | null {
  const [, from = "", step] = /^(\d{1,2}|[A-Z]{3})[/](\d{1,2})$/i.exec(entry) ?? [];
  const begin = boundOf(from, kind);
  if (begin === null) return null;
  const isSunday = begin.isName && kind.name === WEEKDAY_FIELD && begin.value === 0;
  const end = isSunday ? "SAT" : lastIn(kind, begin.isName);
  return `lacks the end of its range: write ${from.toUpperCase()}-${end}/${step}`;
}

/** Explains 22-2 and FRI-MON, which must be written as two ranges. */
function runsBackwards(entry: string, kind: EntryKind): string | null {
  const [from = "", to = "", ...rest] = entry.toUpperCase().split("-");
  const [begin, end] = [boundOf(from, kind), boundOf(to, kind)];
  if (rest.length > 0 || begin === null || end === null || begin.value <= end.value) return null;
  return `runs backwards: write ${twoRanges({ text: from, ...begin }, { text: to, ...end }, kind)}`;
}

function twoRanges(from: Bound & { text: string }, to: Bound & { text: string }, kind: EntryKind): string {
  const range = (begin: string, end: string) => (begin === end ? begin : `${begin}-${end}`);
  const toTheEnd = range(from.text, lastIn(kind, from.isName));
  if (kind.name !== WEEKDAY_FIELD) return `${toTheEnd},${range(firstIn(kind, to.isName), to.text)}`;
  // Sunday is 0 as the first day of the week, and 7 as the last.
  if (from.value === 7) return to.value === 0 ? "0" : range(to.isName ? "SUN" : "0", to.text);
  return to.value === 0 ? toTheEnd : `${toTheEnd},${range(to.isName ? "MON" : "1", to.text)}`;
}

function boundOf(text: string, { name, min, max }: EntryKind): Bound | null {
  if (/^\d{1,2}$/.test(text)) {
    const value = Number(text);
    return value >= min && value <= max ? { value, isName: false } : null;
  }
  const index = namesOf(name).indexOf(text.toUpperCase());
  return index < 0 ? null : { value: name === WEEKDAY_FIELD ? index : index + 1, isName: true };
}

/** Last value of a field whose backward range is split in two. A week then ends with Sunday. */
function lastIn({ name, max }: EntryKind, isName: boolean): string {
  if (!isName) return String(max);
  return name === WEEKDAY_FIELD ? "SUN" : (namesOf(name).at(-1) as string);
}

function firstIn({ name, min }: EntryKind, isName: boolean): string {
  return isName ? (namesOf(name)[0] as string) : String(min);
}

function namesOf(field: string): readonly string[] {
  if (field === "month") return MONTHS;
  return field === WEEKDAY_FIELD ? WEEKDAYS : [];
}
