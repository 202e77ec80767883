import type { LedgerItem, PreviewedFire } from "@mainspring/sdk";
import { ledgerText } from "./schedule-text.ts";

/** Planned instants of a day, counted by their outcome. */
export interface CalendarDay {
  /** Day on the clocks of the job's time zone, such as `2026-03-29`. */
  day: string;
  ran: number;
  /** Number of late instants among `ran` and `waiting`. */
  late: number;
  skipped: number;
  missed: number;
  waiting: number;
  /** Number of instants that are still to come. */
  planned: number;
}

type Counted = Exclude<keyof CalendarDay, "day">;

/** Marks of a day, the worst first: a day shows the first mark that applies. */
const MARKS: readonly (readonly [mark: string, counted: Counted, about: string])[] = [
  ["M", "missed", "missed"],
  ["L", "late", "late"],
  ["S", "skipped", "skipped"],
  ["w", "waiting", "waiting"],
  ["+", "ran", "ran"],
  [".", "planned", "still to come"],
];
const WEEK = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const CELL = 9;
/** Largest number of listed instants that did not run as planned. */
const LISTED_MAX = 20;

/** Every day of a month. @param month month, such as `2026-03` */
export function calendarOf(
  month: string,
  items: readonly LedgerItem[],
  fires: readonly PreviewedFire[],
): CalendarDay[] {
  const days = Array.from({ length: lengthOf(month) }, (_, index) => emptyDay(`${month}-${twoDigits(index + 1)}`));
  const dayOf = (local: string) => (local.startsWith(`${month}-`) ? days[Number(local.slice(8, 10)) - 1] : undefined);
  for (const { local, outcome, run, count = 1 } of items) {
    const day = dayOf(local);
    if (day === undefined) continue;
    day[outcome.toLowerCase() as Lowercase<typeof outcome>] += count;
    if (run?.late === true) day.late += count;
  }
  for (const { local } of fires) {
    const day = dayOf(local);
    if (day !== undefined) day.planned++;
  }
  return days;
}

/** Calendar of a month for people, followed by instants that did not run as planned. */
export function calendarText(month: string, days: readonly CalendarDay[], items: readonly LedgerItem[]): string {
  const odd = items.filter(
    ({ local, outcome, run }) =>
      local.startsWith(month) && (outcome === "SKIPPED" || outcome === "MISSED" || run?.late),
  );
  const blocks = [[month, ...weeksOf(month, days)].join("\n"), legend(days)];
  // The worst come first, and among equals the newest.
  odd.sort((a, b) => rankOf(a) - rankOf(b));
  if (odd.length > 0) blocks.push(ledgerText(odd.slice(0, LISTED_MAX)));
  if (odd.length > LISTED_MAX) blocks.push(`and ${odd.length - LISTED_MAX} more: \`jobs ledger\` has all`);
  return blocks.join("\n\n");
}

function rankOf({ outcome }: LedgerItem): number {
  if (outcome === "SKIPPED") return 2;
  return outcome === "MISSED" ? 0 : 1;
}

function weeksOf(month: string, days: readonly CalendarDay[]): string[] {
  const before = (new Date(`${month}-01T00:00:00Z`).getUTCDay() + 6) % 7;
  const cells = [...Array.from({ length: before }, () => ""), ...days.map(cellOf)];
  const lines = [WEEK.map((name) => `   ${name}`.padEnd(CELL)).join("")];
  for (let first = 0; first < cells.length; first += 7) {
    lines.push(
      cells
        .slice(first, first + 7)
        .map((cell) => cell.padEnd(CELL))
        .join(""),
    );
  }
  return lines.map((line) => line.trimEnd());
}

function cellOf(day: CalendarDay): string {
  const date = `  ${Number(day.day.slice(8))}`.slice(-3);
  const [mark = "", counted] = MARKS.find(([, counted]) => day[counted] > 0) ?? [];
  const count = counted === undefined || day[counted] === 1 ? "" : String(day[counted]);
  return `${date} ${mark}${count}`;
}

function legend(days: readonly CalendarDay[]): string {
  const sum = (counted: Counted) => days.reduce((total, day) => total + day[counted], 0);
  return MARKS.map(([mark, counted, about]) => `${mark} ${about} ${sum(counted)}`).join("   ");
}

function emptyDay(day: string): CalendarDay {
  return { day, ran: 0, late: 0, skipped: 0, missed: 0, waiting: 0, planned: 0 };
}

function lengthOf(month: string): number {
  const [year = 0, number = 1] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number, 0)).getUTCDate();
}

function twoDigits(count: number): string {
  return String(count).padStart(2, "0");
}
