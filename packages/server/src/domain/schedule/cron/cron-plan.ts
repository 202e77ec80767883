import type { CronPattern } from "croner";

/**
 * A cron expression, ready to be stepped through. Table for each field of the time of day: the smallest allowed value
 * at or above the index, -1 where there is none; it is one longer than the field has values.
 */
export interface CronPlan {
  second: Int8Array;
  minute: Int8Array;
  hour: Int8Array;
  /** Bit 0 is January. */
  months: number;
  days: DayRule;
  /** Neither its minute nor its hour has a `*` or a step: it means times of day. Others mean elapsed time. */
  fixedTime: boolean;
}

/** Which days of a month. Bit 0 is the first. */
export interface DayRule {
  dates: number;
  /** The weekdays that are nearest to these dates, within the month. */
  nearestWeekdays: number;
  lastDate: boolean;
  lastWeekday: boolean;
  /** Bits for each weekday from Sunday on: bits 0 to 4 stand for its first to fifth in the month, bit 5 for its last. */
  weekdays: readonly number[];
  /** A day must satisfy dates and weekdays, as one of the two fields is unrestricted; else one of them is enough. */
  both: boolean;
}

/** @param fields the texts of minute, hour, day of month, month, day of week */
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
      // As Vixie's cron has it: what starts with a star is unrestricted, a star with a step too.
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
