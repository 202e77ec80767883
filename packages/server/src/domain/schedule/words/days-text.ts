import type { CronPlan, DayRule } from "../cron/cron-plan.ts";
import { joined, partsOf } from "./lists.ts";

const MONTHS = [
  ...["January", "February", "March", "April", "May", "June", "July"],
  ...["August", "September", "October", "November", "December"],
];
const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const OCCURRENCES = ["first", "second", "third", "fourth", "fifth", "last"];
const ALL_DATES = 2 ** 31 - 1;
const ALL_MONTHS = 2 ** 12 - 1;
/** Bits 0 to 4: every occurrence of a weekday in a month. */
const EACH_OCCURRENCE = 31;

/** Days and months of a plan. */
interface DaysText {
  /** Days, such as `on the last Friday of March`; null: every day of every month. */
  days: string | null;
  /** Months, where `days` does not name them, such as `in March`; null: none to name. */
  months: string | null;
}

export function daysText({ months, days }: CronPlan): DaysText {
  const inMonths = months === ALL_MONTHS ? null : joined(partsOf(bitsIn(months), (month) => MONTHS[month] as string));
  const [dates, weekdays] = [datesOf(days), weekdaysOf(days)];
  const isEvery = days.both ? dates === null && weekdays === null : dates === null || weekdays === null;
  if (isEvery) return { days: null, months: inMonths && `in ${inMonths}` };
  const ofMonth = `of ${inMonths ?? "the month"}`;
  if (weekdays === null) return { days: `on ${dates} ${ofMonth}`, months: null };
  if (dates === null && weekdays.isPlain) return { days: `on ${weekdays.text}`, months: inMonths && `in ${inMonths}` };
  if (dates === null && weekdays.isNumbered) return { days: `on ${weekdays.text} ${ofMonth}`, months: null };
  return { days: severalText(days, dates, weekdays), months: inMonths && `only in ${inMonths}` };
}

/** Text of days that several rules give. */
function severalText({ both }: DayRule, dates: string | null, weekdays: Weekdays): string {
  const onWeekdays = `on ${weekdays.text}${weekdays.isPlain ? "" : " of the month"}`;
  if (dates === null) return onWeekdays;
  return both ? `${onWeekdays}, but only on ${dates} of the month` : `on ${dates} of the month and also ${onWeekdays}`;
}

function bitsIn(bits: number): number[] {
  return Array.from({ length: 31 }, (_, place) => place).filter((place) => (bits & (1 << place)) !== 0);
}

/** Dates of a rule, such as `days 1 to 7 and the last day`; null: every date. */
function datesOf({ dates, nearestWeekdays, lastWeekday, lastDate }: DayRule): string | null {
  if (dates === ALL_DATES) return null;
  const numbers = bitsIn(dates).map((bit) => bit + 1);
  const parts = partsOf(numbers).map((part, place) =>
    place === 0 ? `day${numbers.length > 1 ? "s" : ""} ${part}` : part,
  );
  for (const bit of bitsIn(nearestWeekdays)) parts.push(`the weekday nearest to day ${bit + 1}`);
  if (lastWeekday) parts.push("the last weekday");
  if (lastDate) parts.push("the last day");
  return joined(parts);
}

interface Weekdays {
  text: string;
  /** Whether each weekday is meant whenever it occurs. */
  isPlain: boolean;
  /** Whether certain occurrences in a month are meant of each weekday. */
  isNumbered: boolean;
}

/** @returns null: every weekday */
function weekdaysOf({ weekdays }: DayRule): Weekdays | null {
  // The week begins on Monday, so that the weekend is at its end.
  const week = [1, 2, 3, 4, 5, 6, 0];
  const isWhole = (day: number) => ((weekdays[day] as number) & EACH_OCCURRENCE) === EACH_OCCURRENCE;
  const whole = [...week.keys()].filter((place) => isWhole(week[place] as number));
  if (whole.length === 7) return null;
  const numbered = week.filter((day) => !isWhole(day) && weekdays[day] !== 0);
  const isMondayToFriday = whole.length === 5 && whole.at(-1) === 4;
  const parts = [
    ...(isMondayToFriday ? ["weekdays"] : partsOf(whole, (place) => WEEKDAYS[week[place] as number] as string)),
    ...numbered.map((day) => `the ${occurrencesText(weekdays[day] as number)} ${WEEKDAYS[day]}`),
  ];
  return { text: joined(parts), isPlain: numbered.length === 0, isNumbered: whole.length === 0 };
}

function occurrencesText(bits: number): string {
  return joined(OCCURRENCES.filter((_, place) => (bits & (1 << place)) !== 0));
}
