import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import "../testing/zones.ts";
import { cronClock, nextCronFire } from "../cron/cron-fires.ts";
import { readCron } from "../cron/cron-text.ts";
import { DEFAULT_DST, type Schedule } from "../schedule.ts";
import cases from "../testing/cron-cases.json" with { type: "json" };
import { expression } from "../testing/expressions.ts";
import { matchesWall, secondsOf } from "../testing/match.ts";
import { readWords } from "../testing/read-words.ts";
import { scheduleWords } from "./schedule-words.ts";

const unbounded = { startAt: null, endAt: null, maxFires: null, shiftMs: 0 };
const cronWords = (cron: string, timezone = "Etc/UTC") =>
  scheduleWords({ times: { type: "CRON", cron, timezone, dst: DEFAULT_DST }, ...unbounded });

const SENTENCES: Record<string, string> = {
  "30 2 * * MON-FRI": "at 02:30 on weekdays",
  "30 2 * * *": "at 02:30 every day",
  "0 0,12 * * *": "at 00:00 and 12:00 every day",
  "15 30 2 * * *": "at 02:30:15 every day",
  "* * * * *": "every minute",
  "* * * * * *": "every second",
  "*/20 * * * * *": "every 20 seconds",
  "30 * * * * *": "at second 30 of every minute",
  "*/15 * * * *": "every 15 minutes",
  "5-59/15 * * * *": "every 15 minutes from 00:05 to 23:50",
  "*/7 * * * *": "at minutes 0, 7, 14, …, 56 of every hour",
  "15 * * * *": "at minute 15 of every hour",
  "0 * * * *": "every hour",
  "0 */2 * * *": "every 2 hours from 00:00 to 22:00 every day",
  "*/15 9-17 * * MON-FRI": "every 15 minutes from 09:00 to 17:45 on weekdays",
  "0 9-17,19,21 * * *": "at minute 0 of hours 9 to 17, 19 and 21 every day",
  "* 9,11,13 * * *": "every minute of hours 9, 11 and 13 every day",
  "0 18 LW * *": "at 18:00 on the last weekday of the month",
  "0 0 1,15W,L * *": "at 00:00 on day 1, the weekday nearest to day 15 and the last day of the month",
  "0 0 1-7 * MON": "at 00:00 on days 1 to 7 of the month and also on Monday",
  "0 0 */2 * MON": "at 00:00 on Monday, but only on days 1, 3, 5, …, 31 of the month",
  "0 0 13 * FRI": "at 00:00 on day 13 of the month and also on Friday",
  "0 0 13 3 FRI": "at 00:00 on day 13 of the month and also on Friday, only in March,",
  "0 9 * * MON#2": "at 09:00 on the second Monday of the month",
  "0 9 ? * MON#1,MON#3,FRIL": "at 09:00 on the first and third Monday and the last Friday of the month",
  "0 9 * * SUN,MON#2": "at 09:00 on Sunday and the second Monday of the month",
  "0 9 * 3,4,5,10 FRIL": "at 09:00 on the last Friday of March to May and October",
  "0 0 29 2 *": "at 00:00 on day 29 of February",
  "0 0 * 6 *": "at 00:00, in June,",
  "* * * 6 SAT,SUN": "every minute on Saturday and Sunday, in June,",
  "0 0 1-31 * FRI": "at 00:00 every day",
  "@weekly": "at 00:00 on Sunday",
  "@yearly": "at 00:00 on day 1 of January",
};

const FIRES = 12;
/** From one compared fire to the next: 17 days, and an odd time of day. */
const STRIDE_MS = 17 * 86_400_000 + 5_000_123;
/** Distances from a fire in seconds. */
const AROUND = [0, 1, 60, 3_600, 86_400, 7 * 86_400];

describe("the words of a schedule", () => {
  for (const [cron, words] of Object.entries(SENTENCES)) {
    it(`of ${cron}`, () => assert.equal(cronWords(cron), `${words} in Etc/UTC`));
  }

  it("name the zone, the bounds and the shift of the job", () => {
    assert.equal(cronWords("30 2 * * 1-5", "Europe/Berlin"), "at 02:30 on weekdays in Europe/Berlin");
    const times = { type: "CRON", cron: "@daily", timezone: "UTC", dst: DEFAULT_DST } as const;
    const startAt = Date.parse("2027-01-01T00:00:00Z");
    const bounds = { startAt, endAt: startAt + 86_400_500, maxFires: 3, shiftMs: 1_500 };
    assert.equal(
      scheduleWords({ times, ...bounds }),
      "at 00:00 every day in UTC, each time 1.5 s later, not before 2027-01-01T00:00:00Z, only before 2027-01-02T00:00:00.500Z, 3 times in all",
    );
  });

  it("of an interval say from when on it counts", () => {
    const every = (everyMs: number, more: Partial<Schedule> = {}, mode: "FIXED_RATE" | "FIXED_DELAY" = "FIXED_RATE") =>
      scheduleWords({ times: { type: "INTERVAL", everyMs, mode, anchorAt: 0 }, ...unbounded, ...more });
    assert.equal(every(90_000), "every 90 seconds, counted from the creation of the job");
    assert.equal(every(3_600_000), "every hour, counted from the creation of the job");
    assert.equal(
      every(1_500, { startAt: 0 }),
      "every 1.5 seconds, counted from its start, not before 1970-01-01T00:00:00Z",
    );
    assert.equal(every(120_000, {}, "FIXED_DELAY"), "2 minutes after the end of the last execution");
  });

  it("mean the same times as each checked expression", () => {
    for (const { cron } of cases)
      if (!("message" in readCron(cron))) checkMeaning(cron.startsWith("@") ? "0 0 1 1 *" : cron);
  });

  it("mean the same times as any expression", () => {
    fc.assert(fc.property(expression, (cron) => "message" in readCron(cron) || checkMeaning(cron)));
  });
});

/** Compares both meanings at fires of several years, and around each of them. */
function checkMeaning(cron: string): true {
  const isMeant = readWords(cronWords(cron));
  const seconds = secondsOf(cron);
  const clock = cronClock({ type: "CRON", cron, timezone: "Etc/UTC", dst: DEFAULT_DST });
  let after = Date.UTC(2027, 0, 1);
  for (let turn = 0; turn < FIRES; turn++) {
    const fire = (nextCronFire(clock, after) as number) / 1_000;
    for (const sec of AROUND.flatMap((distance) => [fire - distance, fire + distance])) {
      const isMatch = seconds.includes(sec % 60) && matchesWall(cron, Math.floor(sec / 60));
      assert.equal(isMeant(sec), isMatch, `${cron}: ${cronWords(cron)} at ${new Date(sec * 1_000).toISOString()}`);
    }
    after = fire * 1_000 + STRIDE_MS;
  }
  return true;
}
