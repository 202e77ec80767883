import { readCron } from "../cron/cron-text.ts";
import type { CronTimes, IntervalTimes, Schedule } from "../schedule.ts";
import { daysText } from "./days-text.ts";
import { spanText } from "./lists.ts";
import { isInEachHour, timesText } from "./times-text.ts";

/**
 * A schedule in English, such as `at 02:30 on weekdays in Europe/Berlin`. The sentence is made from the parsed schedule: two schedules
 * have the same one only if they mean the same local times. It does not tell the effects of clock changes, which depend on the date.
 * @param schedule a valid schedule
 */
export function scheduleWords({ times, startAt, endAt, maxFires, shiftMs }: Schedule): string {
  const parts = [times.type === "CRON" ? cronWords(times) : intervalWords(times, startAt)];
  if (shiftMs > 0) parts.push(`each time ${shiftMs / 1_000} s later`);
  if (startAt !== null) parts.push(`not before ${instantText(startAt)}`);
  if (endAt !== null) parts.push(`only before ${instantText(endAt)}`);
  if (maxFires !== null) parts.push(maxFires === 1 ? "once in all" : `${maxFires} times in all`);
  return parts.join(", ");
}

function cronWords({ cron, timezone }: CronTimes): string {
  const plan = readCron(cron);
  if ("message" in plan) throw new Error(`the schedule has an expression that was refused: ${plan.message}`);
  const { days, months } = daysText(plan);
  const onDays = days ?? (isInEachHour(plan) || months !== null ? null : "every day");
  const sentence = [timesText(plan), onDays].filter((part) => part !== null).join(" ");
  return months === null ? `${sentence} in ${timezone}` : `${sentence}, ${months}, in ${timezone}`;
}

function intervalWords({ everyMs, mode }: IntervalTimes, startAt: number | null): string {
  const span = spanText(everyMs / 1_000);
  if (mode === "FIXED_DELAY") return `${span} after the end of the last execution`;
  return `every ${span}, counted from ${startAt === null ? "the creation of the job" : "its start"}`;
}

function instantText(at: number): string {
  return new Date(at).toISOString().replace(".000Z", "Z");
}
