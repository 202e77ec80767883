import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import "./testing/zones.ts";
import { checkSchedule } from "./check.ts";
import { fireAfterEnd, firstFire, nextFire, occurrences } from "./fires.ts";
import { DEFAULT_DST, type IntervalTimes, type Schedule } from "./schedule.ts";
import { spreadShiftMs } from "./spread.ts";

const MINUTE_MS = 60_000;
const created = Date.parse("2025-03-08T12:00:00Z");

function cron(text: string, timezone = "UTC", rest: Partial<Schedule> = {}): Schedule {
  return { times: { type: "CRON", cron: text, timezone, dst: DEFAULT_DST }, ...unbounded, ...rest };
}

function every(everyMs: number, mode: IntervalTimes["mode"], rest: Partial<Schedule> = {}): Schedule {
  return { times: { type: "INTERVAL", everyMs, mode, anchorAt: rest.startAt ?? created }, ...unbounded, ...rest };
}

const unbounded = { startAt: null, endAt: null, maxFires: null, shiftMs: 0 };
const at = (text: string) => Date.parse(text);
const iso = (instant: number | null) => (instant === null ? null : new Date(instant).toISOString());

describe("an interval", () => {
  it("at a fixed rate stays on its grid, however late it is asked", () => {
    const schedule = every(10 * MINUTE_MS, "FIXED_RATE");
    assert.equal(iso(firstFire(schedule, created)), "2025-03-08T12:10:00.000Z");
    assert.equal(iso(nextFire(schedule, at("2025-03-08T12:10:00Z"), 1)), "2025-03-08T12:20:00.000Z");
    assert.equal(iso(nextFire(schedule, at("2025-03-08T15:23:45.678Z"), 2)), "2025-03-08T15:30:00.000Z");
  });

  it("fires at its start, whether that lies ahead or is the present", () => {
    const later = every(MINUTE_MS, "FIXED_RATE", { startAt: at("2025-03-08T13:00:30Z") });
    assert.equal(iso(firstFire(later, created)), "2025-03-08T13:00:30.000Z");
    assert.equal(firstFire(every(MINUTE_MS, "FIXED_RATE", { startAt: created }), created - 1), created);
    const past = every(MINUTE_MS, "FIXED_RATE", { startAt: created - 90_000 });
    assert.equal(firstFire(past, created), created + 30_000);
  });

  it("with a fixed delay counts from the end of the last execution", () => {
    const schedule = every(10 * MINUTE_MS, "FIXED_DELAY");
    assert.equal(iso(firstFire(schedule, created)), "2025-03-08T12:10:00.000Z");
    assert.equal(iso(nextFire(schedule, at("2025-03-08T12:13:20Z"), 1)), "2025-03-08T12:23:20.000Z");
    assert.deepEqual(occurrences(schedule, created, created + 3_600_000, 10), { instants: [], more: false });
  });

  it("with a fixed delay keeps it also after an execution that ends shortly before the start", () => {
    const startAt = at("2025-03-08T13:00:00Z");
    const schedule = every(10 * MINUTE_MS, "FIXED_DELAY", { startAt, shiftMs: 5_000 });
    assert.equal(iso(fireAfterEnd(schedule, created, 1)), "2025-03-08T13:00:05.000Z");
    assert.equal(iso(fireAfterEnd(schedule, at("2025-03-08T12:59:00Z"), 1)), "2025-03-08T13:09:00.000Z");
    assert.equal(iso(fireAfterEnd(schedule, at("2025-03-08T14:00:00Z"), 2)), "2025-03-08T14:10:00.000Z");
    assert.equal(fireAfterEnd({ ...schedule, maxFires: 2 }, at("2025-03-08T14:00:00Z"), 2), null);
  });
});

describe("the bounds of a schedule", () => {
  it("let a fire at the start through, and none at the end", () => {
    const hours = { startAt: at("2025-03-09T08:00:00Z"), endAt: at("2025-03-09T10:00:00Z") };
    const schedule = cron("0 * * * *", "UTC", hours);
    assert.equal(iso(firstFire(schedule, created)), "2025-03-09T08:00:00.000Z");
    assert.equal(iso(nextFire(schedule, hours.startAt, 1)), "2025-03-09T09:00:00.000Z");
    assert.equal(nextFire(schedule, at("2025-03-09T09:00:00Z"), 2), null);
  });

  it("end with the last of so many fires", () => {
    const schedule = cron("0 * * * *", "UTC", { maxFires: 2 });
    assert.notEqual(nextFire(schedule, created, 1), null);
    assert.equal(nextFire(schedule, created, 2), null);
  });
});

describe("the spread of a job", () => {
  it("is the same every day, lies within its bounds, and differs between jobs", () => {
    const shifts = Array.from({ length: 1_000 }, (_, job) => spreadShiftMs(`0195-${job}`, 600));
    assert.ok(shifts.every((shiftMs) => shiftMs >= 0 && shiftMs < 600_000));
    const perMinute = Array.from({ length: 10 }, (_, minute) => {
      return shifts.filter((shiftMs) => Math.floor(shiftMs / MINUTE_MS) === minute).length;
    });
    assert.ok(
      perMinute.every((count) => count > 60 && count < 140),
      String(perMinute),
    );
    assert.equal(spreadShiftMs("0195-7", 600), shifts[7]);
  });

  it("moves every fire by the same time, and none past a bound", () => {
    fc.assert(
      fc.property(fc.nat(3_600_000), fc.nat(3 * 86_400_000), (shiftMs, afterMs) => {
        const plain = cron("0 0,12 * * *", "America/New_York", { endAt: created + 2 * 86_400_000 });
        const next = nextFire(plain, created + afterMs, 0);
        const shifted = nextFire({ ...plain, shiftMs }, created + afterMs + shiftMs, 0);
        assert.equal(shifted, next === null ? null : next + shiftMs);
      }),
      { seed: 1, numRuns: 200 },
    );
  });
});

describe("the occurrences of a range", () => {
  it("are those from its start to before its end, and so many at most", () => {
    const schedule = cron("0 * * * *");
    const [since, until] = [at("2025-03-09T01:00:00Z"), at("2025-03-09T04:00:00Z")];
    const hours = [1, 2, 3].map((hour) => at(`2025-03-09T0${hour}:00:00Z`));
    assert.deepEqual(occurrences(schedule, since, until, 10), { instants: hours, more: false });
    assert.deepEqual(occurrences(schedule, since, until, 3), { instants: hours, more: false });
    assert.deepEqual(occurrences(schedule, since, until, 2), { instants: hours.slice(0, 2), more: true });
  });
});

describe("checking a schedule", () => {
  const fields = (schedule: Schedule) => checkSchedule(schedule, created).map(({ field }) => field);

  it("finds nothing wrong with a good one", () => {
    for (const schedule of [
      cron("30 2 * * *", "Europe/Paris"),
      every(1_000, "FIXED_RATE"),
      every(90_500, "FIXED_DELAY"),
    ]) {
      assert.deepEqual(checkSchedule(schedule, created), []);
    }
  });

  it("names every field that is wrong", () => {
    assert.deepEqual(fields(cron("60 * * * *", "Mars/Olympus")), ["schedule", "timezone"]);
    assert.deepEqual(fields(every(999, "FIXED_RATE")), ["everySec"]);
    assert.deepEqual(fields(every(Number.NaN, "FIXED_RATE", { maxFires: 0 })), ["everySec", "maxFires"]);
    assert.deepEqual(fields(cron("@daily", "UTC", { startAt: created, endAt: created })), ["endAt"]);
    assert.deepEqual(fields(cron("@daily", "UTC", { shiftMs: -1 })), ["spreadSec"]);
  });

  it("refuses what never fires: no such date, none within the bounds, or always in a gap", () => {
    assert.deepEqual(fields(cron("0 0 30 2 *")), ["schedule"]);
    assert.deepEqual(fields(cron("0 0 1 1 *", "UTC", { endAt: created + 1_000 })), ["endAt"]);
    // The clocks of New York skip this hour on this very day, every year.
    const [refusal] = checkSchedule(cron("*/5 2 ? 3 SUN#2", "America/New_York"), created);
    assert.match(refusal?.message ?? "", /never fires: in America\/New_York the clocks skip/);
    assert.deepEqual(fields(cron("*/5 2 ? 3 SUN#2", "America/Phoenix")), []);
  });

  it("refuses a start so late that no fire comes before the year 9999, and says so", () => {
    const starting = (startAt: string) => ({ startAt: at(startAt) });
    for (const late of [
      cron("0 0 1 1 *", "UTC", starting("9998-12-31T23:59:00Z")),
      cron("0 0 29 2 *", "UTC", starting("9997-01-01T00:00:00Z")),
      every(1_000, "FIXED_RATE", starting("9999-06-01T00:00:00Z")),
    ]) {
      const [refusal] = checkSchedule(late, created);
      assert.equal(refusal?.field, "startAt");
      assert.match(refusal.message, /leaves no fire before the year 9999/);
    }
    assert.deepEqual(fields(cron("0 0 1 1 *", "UTC", starting("9990-12-31T23:59:00Z"))), []);
    const never = checkSchedule(cron("*/5 2 ? 3 SUN#2", "America/New_York", starting("2030-01-01T00:00:00Z")), created);
    assert.match(never[0]?.message ?? "", /for the next 50 years/);
  });
});
