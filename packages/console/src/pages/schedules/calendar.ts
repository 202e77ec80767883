import type { LedgerItemBody } from "@mainspring/contract";

export type Outcome = LedgerItemBody["outcome"] | "LATE" | "PLANNED";

/** Planned instant of a job. */
export interface Instant {
  /** On the clocks of the job, as 2026-03-29T03:00:00+02:00. */
  local: string;
  outcome: Outcome;
  /** Number of instants that it stands for. */
  count: number;
  /** Effect of a clock change on it; left out: none. */
  note?: string;
}

export interface Day {
  /** As 2026-03-29. */
  date: string;
  isInMonth: boolean;
  /** Numbers of instants by outcome. */
  counts: ReadonlyMap<Outcome, number>;
  /** Effects of clock changes. */
  marks: readonly string[];
}

const DAY_MS = 86_400_000;

/** Month of a time on the clocks of its zone, as 2026-03. */
export function monthOf(local: string): string {
  return local.slice(0, 7);
}

/** Another month. @param by number of months, also negative */
export function monthBeside(month: string, by: number): string {
  const [year = 0, number = 1] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 1 + by)).toISOString().slice(0, 7);
}

/** Whether a text is a month, as 2026-03. */
export function isMonth(text: string): boolean {
  return /^\d{4}-(0[1-9]|1[0-2])$/.test(text);
}

/** Bounds of a month that hold on the clocks of every zone, in milliseconds since 1970. */
export function boundsOf(month: string): { since: number; until: number } {
  return {
    since: Date.parse(`${month}-01T00:00:00Z`) - DAY_MS,
    until: Date.parse(`${monthBeside(month, 1)}-01T00:00:00Z`) + DAY_MS,
  };
}

/**
 * Weeks of a month, each from Monday on, with the instants of their days.
 * @param instants in the order of time
 * @param changeText words for a change of the clocks between two instants
 */
export function calendarOf(
  month: string,
  instants: readonly Instant[],
  changeText: (from: string, to: string) => string,
): Day[][] {
  const counts = new Map<string, Map<Outcome, number>>();
  const marks = new Map<string, string[]>();
  const mark = (date: string, text: string) => marks.set(date, [...(marks.get(date) ?? []), text]);
  let offset: string | null = null;
  for (const { local, outcome, count, note } of instants) {
    const date = local.slice(0, 10);
    const ofDay = counts.get(date) ?? new Map<Outcome, number>();
    counts.set(date, ofDay.set(outcome, (ofDay.get(outcome) ?? 0) + count));
    const its = offsetOf(local);
    if (offset !== null && its !== offset) mark(date, changeText(offset, its));
    if (note !== undefined) mark(date, note);
    offset = its;
  }
  return weeksOf(month).map((week) =>
    week.map((date) => ({
      date,
      isInMonth: date.startsWith(month),
      counts: counts.get(date) ?? new Map<Outcome, number>(),
      marks: marks.get(date) ?? [],
    })),
  );
}

/** Distance of the clocks from UTC, as +02:00 or Z. */
function offsetOf(local: string): string {
  return /(Z|[+-]\d\d:\d\d(:\d\d)?)$/.exec(local)?.[0] ?? "";
}

function weeksOf(month: string): string[][] {
  const first = Date.parse(`${month}-01T00:00:00Z`);
  const end = Date.parse(`${monthBeside(month, 1)}-01T00:00:00Z`);
  const monday = first - ((new Date(first).getUTCDay() + 6) % 7) * DAY_MS;
  const weeks: string[][] = [];
  for (let at = monday; at < end; at += 7 * DAY_MS)
    weeks.push(Array.from({ length: 7 }, (_, day) => new Date(at + day * DAY_MS).toISOString().slice(0, 10)));
  return weeks;
}

/** Outcome of a ledger's item, in which a late run is one of its own. */
export function outcomeOf({ outcome, run }: LedgerItemBody): Outcome {
  return outcome === "RAN" && run?.late === true ? "LATE" : outcome;
}
