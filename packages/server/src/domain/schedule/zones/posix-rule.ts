import { BadTzif, OFFSET_MAX_SEC } from "./bad-tzif.ts";
import type { EpochSec } from "./time-zone.ts";

/** Rule of a year's clock changes, from the footer of a TZif file: `CET-1CEST,M3.5.0,M10.5.0/3`. */
export interface PosixRule {
  standardSec: number;
  /** null: the clocks are never set. */
  daylight: { offsetSec: number; from: YearDay; to: YearDay } | null;
}

/** A day of each year with a local time in seconds, which may lie days before or after that day. */
interface YearDay {
  /**
   * MONTH: the nth weekday of a month; the fifth is the last. JULIAN: day of the year without 29 February, from 1.
   * PLAIN: day of the year with it, from 0.
   */
  kind: "MONTH" | "JULIAN" | "PLAIN";
  month: number;
  week: number;
  day: number;
  timeSec: number;
}

const DAY_SEC = 86_400;
const NAME = "(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)";
const TIME = "([+-]?\\d{1,3}(?::\\d\\d){0,2})";
const RULE = new RegExp(`^${NAME}${TIME}(?:${NAME}${TIME}?,([^,]+),([^,]+))?$`);
const DAY = new RegExp(`^(?:M(\\d{1,2})\\.([1-5])\\.([0-6])|J(\\d{1,3})|(\\d{1,3}))(?:/${TIME})?$`);

/** @returns null: the footer is empty. @throws {BadTzif} */
export function posixRule(text: string): PosixRule | null {
  if (text === "") return null;
  const found = RULE.exec(text);
  if (found === null) throw new BadTzif(`has the footer ${JSON.stringify(text.slice(0, 80))}, which is no POSIX rule`);
  const [, standard = "0", daylight, from, to] = found;
  const standardSec = offsetOf(standard);
  if (from === undefined || to === undefined) return { standardSec, daylight: null };
  const offsetSec = daylight === undefined ? standardSec + 3_600 : offsetOf(daylight);
  return { standardSec, daylight: { offsetSec, from: dayOf(from), to: dayOf(to) } };
}

/** Clock changes of a year, ascending. @param year of the local date */
export function changesOf(rule: PosixRule, year: number): { at: EpochSec; offsetSec: number }[] {
  const { standardSec, daylight } = rule;
  if (daylight === null) return [];
  const begin = { at: instantOf(daylight.from, year) - standardSec, offsetSec: daylight.offsetSec };
  const end = { at: instantOf(daylight.to, year) - daylight.offsetSec, offsetSec: standardSec };
  return begin.at < end.at ? [begin, end] : [end, begin];
}

/** Reads an offset. POSIX counts offsets to the west, so the sign changes. */
function offsetOf(text: string): number {
  const offset = -secondsOf(text);
  if (Math.abs(offset) >= OFFSET_MAX_SEC)
    throw new BadTzif(`has a footer with an offset of ${offset} seconds from UTC`);
  return offset;
}

function secondsOf(text: string): number {
  const [hours = "0", minutes = "0", seconds = "0"] = text.replace(/^[+-]/, "").split(":");
  const size = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return text.startsWith("-") ? -size : size;
}

function dayOf(text: string): YearDay {
  const found = DAY.exec(text);
  if (found === null)
    throw new BadTzif(`has the footer day ${JSON.stringify(text.slice(0, 40))}, which is no POSIX day`);
  const [, month, week, weekday, julian, plain, time = "2"] = found;
  const timeSec = secondsOf(time);
  const day = Number(weekday ?? julian ?? plain);
  if (Math.abs(timeSec) > 7 * DAY_SEC || Number(month ?? 1) > 12 || Number(month ?? 1) < 1 || day > 366) {
    throw new BadTzif(`has the footer day ${JSON.stringify(text)}, which no year has`);
  }
  const kind = month !== undefined ? "MONTH" : julian !== undefined ? "JULIAN" : "PLAIN";
  return { kind, month: Number(month ?? 1), week: Number(week ?? 1), day, timeSec };
}

/** Time of a year day in seconds, counted as if local time were UTC. */
function instantOf({ kind, month, week, day, timeSec }: YearDay, year: number): number {
  if (kind === "MONTH") return weekdayOf(year, month, week, day) + timeSec;
  const isLeap = new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1;
  const index = kind === "PLAIN" ? day : day - (isLeap && day >= 60 ? 0 : 1);
  return Date.UTC(year, 0, 1) / 1_000 + index * DAY_SEC + timeSec;
}

function weekdayOf(year: number, month: number, week: number, weekday: number): number {
  const first = Date.UTC(year, month - 1, 1);
  const length = new Date(Date.UTC(year, month, 0)).getUTCDate();
  let date = 1 + ((weekday - new Date(first).getUTCDay() + 7) % 7) + (week - 1) * 7;
  if (date > length) date -= 7;
  return first / 1_000 + (date - 1) * DAY_SEC;
}
