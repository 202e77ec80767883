import type { CronPlan, DayRule } from "./cron/cron-plan.ts";

/** Bit 5 of a weekday's rule: its last occurrence in a month. */
const LAST = 32;
/** Every kind of year occurs within these 28 years, because no leap day is left out among them. */
const ALL_KINDS_OF_YEARS = { from: 2000, until: 2028 };

/** Days of a month that a rule allows, as bits; bit 0 is the first. @param month 0 to 11 */
export function daysOfMonth(rule: DayRule, year: number, month: number): number {
  const length = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const firstWeekday = new Date(Date.UTC(year, month, 1)).getUTCDay();
  return daysOf(rule, length, firstWeekday);
}

/** Days that a rule allows in a month of this length that begins on this weekday (0: Sunday). */
function daysOf(rule: DayRule, length: number, firstWeekday: number): number {
  // The unsigned shift gives 2 ** 31 - 1 for 31 days; a left shift by the length would overflow.
  const all = -1 >>> (32 - length);
  const dates = datesOf(rule, length, firstWeekday) & all;
  const weekdays = weekdaysOf(rule, length, firstWeekday);
  return rule.both ? dates & weekdays : dates | weekdays;
}

function datesOf(rule: DayRule, length: number, firstWeekday: number): number {
  let days = rule.dates;
  if (rule.lastDate) days |= 1 << (length - 1);
  if (rule.lastWeekday) days |= 1 << (nearestWeekday(length, length, firstWeekday) - 1);
  for (let bits = rule.nearestWeekdays; bits !== 0; bits &= bits - 1) {
    const date = lowestBit(bits) + 1;
    if (date <= length) days |= 1 << (nearestWeekday(date, length, firstWeekday) - 1);
  }
  return days;
}

/** Day from Monday to Friday that is nearest to a date; at most two days away, and never in another month. */
function nearestWeekday(date: number, length: number, firstWeekday: number): number {
  const weekday = (firstWeekday + date - 1) % 7;
  if (weekday === 6) return date === 1 ? 3 : date - 1;
  if (weekday === 0) return date === length ? date - 2 : date + 1;
  return date;
}

function weekdaysOf(rule: DayRule, length: number, firstWeekday: number): number {
  let days = 0;
  for (let date = 1; date <= length; date++) {
    const wanted = rule.weekdays[(firstWeekday + date - 1) % 7] as number;
    if (wanted === 0) continue;
    const nth = 1 << Math.floor((date - 1) / 7);
    if ((wanted & nth) !== 0 || ((wanted & LAST) !== 0 && date + 7 > length)) days |= 1 << (date - 1);
  }
  return days;
}

/** Index of the lowest set bit. At least one bit is set. */
export function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}

/** Whether the plan fires on any date. The check tries all fourteen kinds of years, so the answer is exact. */
export function hasDates({ months, days }: CronPlan): boolean {
  for (let year = ALL_KINDS_OF_YEARS.from; year < ALL_KINDS_OF_YEARS.until; year++) {
    for (let bits = months; bits !== 0; bits &= bits - 1) {
      if (daysOfMonth(days, year, lowestBit(bits)) !== 0) return true;
    }
  }
  return false;
}
