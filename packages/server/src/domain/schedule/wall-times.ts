import type { CronPlan } from "./cron/cron-plan.ts";
import { daysOfMonth, lowestBit } from "./month-days.ts";

const DAY_SEC = 86_400;
const DAY_MS = DAY_SEC * 1_000;

/** Local time, counted as if it were UTC: seconds since 1970-01-01T00:00 on the local clock. */
export type WallSec = number;

/** First local time of the plan at or after `from` and before `until`; null: none. */
export function nextWall(plan: CronPlan, from: WallSec, until: WallSec): WallSec | null {
  const firstDay = Math.floor(from / DAY_SEC);
  const date = new Date(firstDay * DAY_MS);
  let [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  let earlier = date.getUTCDate() - 1;
  for (;;) {
    const monthDay = Date.UTC(year, month, 1) / DAY_MS;
    if ((monthDay + earlier) * DAY_SEC >= until) return null;
    const days = (plan.months & (1 << month)) === 0 ? 0 : daysOfMonth(plan.days, year, month);
    for (let bits = days & (-1 << earlier); bits !== 0; bits &= bits - 1) {
      const day = monthDay + lowestBit(bits);
      const time = nextTime(plan, day === firstDay ? from - day * DAY_SEC : 0);
      if (time < 0) continue;
      const wall = day * DAY_SEC + time;
      return wall < until ? wall : null;
    }
    earlier = 0;
    month = (month + 1) % 12;
    if (month === 0) year++;
  }
}

/** First time of day of the plan at or after `from`, in seconds; -1: none on this day. */
function nextTime({ second, minute, hour }: CronPlan, from: number): number {
  const [h, m, s] = [Math.floor(from / 3_600), Math.floor(from / 60) % 60, from % 60];
  const firstSecond = second[0] as number;
  const firstMinute = minute[0] as number;
  if (hour[h] === h) {
    const sameMinute = minute[m] === m ? (second[s] as number) : -1;
    if (sameMinute >= 0) return h * 3_600 + m * 60 + sameMinute;
    const laterMinute = minute[m + 1] as number;
    if (laterMinute >= 0) return h * 3_600 + laterMinute * 60 + firstSecond;
  }
  const laterHour = hour[hour[h] === h ? h + 1 : h] as number;
  return laterHour < 0 ? -1 : laterHour * 3_600 + firstMinute * 60 + firstSecond;
}
