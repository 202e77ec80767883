import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import "../testing/zones.ts";
import type { CronTimes, DstPolicy } from "../schedule.ts";
import { dateField, dstPolicy, expression, monthField, weekdayField } from "../testing/expressions.ts";
import { matchesWall } from "../testing/match.ts";
import { oracleFires } from "../testing/oracle.ts";
import { clockChanges, type WalkedMinute, walk } from "../testing/walk.ts";
import { cronClock, nextCronFire } from "./cron-fires.ts";
import { readCron } from "./cron-text.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const seed = 20_260_329;

/**
 * 48 hours around a clock change. The walk has another day on each side, so that the oracle sees local times that occur
 * twice.
 */
interface Scene {
  timezone: string;
  from: number;
  until: number;
  walked: WalkedMinute[];
}

function sceneOf(timezone: string, year: number, which: number): Scene {
  const changes = clockChanges(timezone, year);
  const change = changes[which % changes.length] ?? Date.UTC(year, which % 12, 1);
  const [from, until] = [change - DAY_MS, change + DAY_MS];
  return { timezone, from, until, walked: walk(timezone, from - DAY_MS, until + DAY_MS) };
}

const scene = fc
  .tuple(fc.constantFrom(...Intl.supportedValuesOf("timeZone")), fc.integer({ min: 1973, max: 2080 }), fc.nat(11))
  .map(([timezone, year, which]) => sceneOf(timezone, year, which));

function firesWithin(cron: string, dst: DstPolicy, { timezone, from, until }: Scene): number[] {
  const times: CronTimes = { type: "CRON", cron, timezone, dst };
  const fires: number[] = [];
  for (let after = from - 1; ; after = fires.at(-1) as number) {
    const next = nextCronFire(cronClock(times), after);
    if (next === null || next >= until) return fires;
    assert.ok(next > after, `${cron} in ${timezone} stays at ${after}`);
    fires.push(next);
  }
}

const firesAtAll = (cron: string) => !("message" in readCron(cron));

describe("fires around clock changes", () => {
  it("are those of an oracle that walks every minute, for any zone, year, expression and policy", () => {
    const expressions = fc.array(fc.tuple(expression, dstPolicy), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(scene, expressions, (scene, tried) => {
        for (const [cron, dst] of tried) {
          if (!firesAtAll(cron)) continue;
          const expected = oracleFires(cron, dst, scene.walked).filter((at) => at >= scene.from && at < scene.until);
          assert.deepEqual(
            firesWithin(cron, dst, scene),
            expected,
            `${cron} in ${scene.timezone}, ${JSON.stringify(dst)}`,
          );
        }
      }),
      { seed, numRuns: 90 },
    );
  });

  it("come strictly after the instant that is asked from, whichever it is", () => {
    fc.assert(
      fc.property(scene, expression, dstPolicy, fc.nat(2 * DAY_MS), (scene, cron, dst, afterMs) => {
        fc.pre(firesAtAll(cron));
        const after = scene.from + afterMs;
        const expected = oracleFires(cron, dst, scene.walked).find((at) => at > after);
        const next = nextCronFire(cronClock({ type: "CRON", cron, timezone: scene.timezone, dst }), after);
        if (expected !== undefined && expected < scene.until) assert.equal(next, expected);
        else assert.ok(next === null || next >= scene.until);
      }),
      { seed, numRuns: 60 },
    );
  });
});

describe("days", () => {
  it("are those of an oracle that looks at every day of two years, and an expression without any is refused", () => {
    const years = fc.integer({ min: 1996, max: 2104 });
    fc.assert(
      fc.property(years, dateField, monthField, weekdayField, (year, date, month, weekday) => {
        const cron = `0 0 ${date} ${month} ${weekday}`;
        const [from, until] = [Date.UTC(year, 0, 1), Date.UTC(year + 2, 0, 1)];
        const expected = [];
        for (let day = from; day < until; day += DAY_MS) if (matchesWall(cron, day / 60_000)) expected.push(day);
        if (!firesAtAll(cron)) return assert.deepEqual(expected, []);
        const utc: Scene = { timezone: "UTC", from, until, walked: [] };
        assert.deepEqual(firesWithin(cron, { gap: "SHIFT", fold: "FIRST" }, utc), expected, cron);
      }),
      { seed, numRuns: 500 },
    );
  });
});
