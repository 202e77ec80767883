import type { CronPattern } from "croner";

/**
 * A cron expression, prepared for stepping. Each field of the time of day has a table: the smallest allowed value at or
 * above the index, or -1 if there is none. The table has one entry more than the field has values.
 */
export interface CronPlan {
  second: Int8Array;
  minute: Int8Array;
  hour: Int8Array;
  /** Allowed months as bits; bit 0 is January. */
  months: number;
  days: DayRule;
  /**
   * Whether neither the minute nor the hour has a `*` or a step. Such an expression means times of day; others mean
   * elapsed time.
   */
  fixedTime: boolean;
}

/** Allowed days of a month. In `dates`, bit 0 is the first. */
export interface DayRule {
  dates: number;
  /** Dates as bits, for each of which the nearest weekday within the month is meant. */
  nearestWeekdays: number;
  lastDate: boolean;
  lastWeekday: boolean;
  /**
   * Bits of each weekday from Sunday on: bits 0 to 4 mean its first to fifth occurrence in the month, bit 5 its last.
   */
  weekdays: readonly number[];
  /**
   * Whether a day must satisfy both dates and weekdays, because one of the two fields is unrestricted. Otherwise one of
   * them is enough.
   */
  both: boolean;
}

/** @param fields texts of minute, hour, day of month, month and day of week */
export function planOf(pattern: CronPattern, [minute = "", hour = "", date = "", , weekday = ""]: string[]): CronPlan {
  return {
    second: nextTable(pattern.second),
    minute: nextTable(pattern.minute),
    hour: nextTable(pattern.hour),
    months: bitsOf(pattern.month),
    days: {
      dates: bitsOf(pattern.day),
      nearestWeekdays: bitsOf(pattern.nearestWeekdays),
      lastDate: pattern.lastDayOfMonth,
      lastWeekday: pattern.lastWeekday,
      weekdays: pattern.dayOfWeek.slice(0, 7),
      // As in Vixie cron, a field that starts with a star is unrestricted, even with a step.
      both: /^[*?]/.test(date) || /^[*?]/.test(weekday),
    },
    fixedTime: !/[*/]/.test(minute + hour),
  };
}

function nextTable(allowed: readonly number[]): Int8Array {
  const table = new Int8Array(allowed.length + 1).fill(-1);
  for (let value = allowed.length - 1; value >= 0; value--) {
    table[value] = allowed[value] ? value : (table[value + 1] as number);
  }
  return table;
}

function bitsOf(allowed: readonly number[]): number {
  return allowed.reduce((bits, value, index) => (value ? bits | (1 << index) : bits), 0);
}
