import type { CronPlan } from "../cron/cron-plan.ts";
import { joined, partsOf, progressionOf, spanText } from "./lists.ts";

const MINUTE_SEC = 60;
const HOUR_SEC = 3_600;
const DAY_SEC = 86_400;
/** Fewest times of a day that are told as an interval. */
const STEADY_MIN = 4;
/** Largest number of times of a day that are told one by one. */
const LISTED_MAX = 6;

/** Times of the day at which a plan fires, such as `at 02:30` or `every 15 minutes from 09:00 to 17:45`. */
export function timesText({ second, minute, hour }: CronPlan): string {
  const times = { seconds: valuesIn(second), minutes: valuesIn(minute), hours: valuesIn(hour) };
  const { seconds, minutes, hours } = times;
  const isShort = seconds.length * minutes.length * hours.length <= LISTED_MAX;
  return steadyText(times) ?? (isShort ? listedText(times) : fieldsText(times));
}

/** Whether a plan fires in each hour of the day. */
export function isInEachHour({ hour }: CronPlan): boolean {
  return valuesIn(hour).length === 24;
}

interface Times {
  seconds: readonly number[];
  minutes: readonly number[];
  hours: readonly number[];
}

function valuesIn(table: Int8Array): number[] {
  return [...table.keys()].filter((value) => table[value] === value);
}

/** Seconds since midnight. */
function* secondsOfDay({ seconds, minutes, hours }: Times): Generator<number> {
  for (const hour of hours) {
    for (const minute of minutes) {
      for (const second of seconds) yield hour * HOUR_SEC + minute * MINUTE_SEC + second;
    }
  }
}

/** Text of times at equal distances; null: they have others, or the fields say it better. */
function steadyText(times: Times): string | null {
  const steady = progressionOf(secondsOfDay(times), STEADY_MIN);
  if (steady === null) return null;
  const { first, step, last } = steady;
  const isWholeDay = first + DAY_SEC - last === step;
  if (isWholeDay && first === 0 && step <= HOUR_SEC) return `every ${spanText(step)}`;
  if (isWholeDay && (step === MINUTE_SEC || step === HOUR_SEC)) return null;
  const [from, to] = clockTexts([first, last]);
  return `every ${spanText(step)} from ${from} to ${to}`;
}

function listedText(times: Times): string {
  return `at ${joined(clockTexts([...secondsOfDay(times)]))}`;
}

/** Times of the day as `02:30`, or all as `02:30:15` if one of them needs seconds. */
function clockTexts(times: readonly number[]): string[] {
  const hasSeconds = times.some((time) => time % MINUTE_SEC !== 0);
  return times.map((time) => {
    const parts = [Math.floor(time / HOUR_SEC), Math.floor(time / MINUTE_SEC) % 60, time % 60];
    return (hasSeconds ? parts : parts.slice(0, 2)).map((part) => String(part).padStart(2, "0")).join(":");
  });
}

/** Text of the fields, such as `at minutes 5 and 7 of every hour`. */
function fieldsText({ seconds, minutes, hours }: Times): string {
  const isOnTheMinute = seconds.length === 1 && seconds[0] === 0;
  const parts = isOnTheMinute ? [] : [fieldText("second", seconds, 60)];
  parts.push(fieldText("minute", minutes, 60));
  // Every minute of every hour is every minute.
  if (minutes.length < 60 || hours.length < 24) parts.push(fieldText("hour", hours, 24));
  const text = parts.join(" of ");
  return text.startsWith("every") ? text : `at ${text}`;
}

function fieldText(name: string, values: readonly number[], size: number): string {
  if (values.length === size) return `every ${name}`;
  return `${name}${values.length === 1 ? "" : "s"} ${joined(partsOf(values))}`;
}
