import assert from "node:assert/strict";
import { describe, it } from "node:test";
import "../../domain/schedule/testing/zones.ts";
import { DEFAULT_RECURRENCE, type RecurrenceRule, recurringJobId } from "../../domain/recurrence.ts";
import { DEFAULT_DST } from "../../domain/schedule/schedule.ts";
import type { InstantTraces, RecurringJob } from "../../ports/store-queries.ts";
import { lookForMissed } from "./missed.ts";

const HOUR_MS = 3_600_000;
const CREATED = Date.UTC(2026, 0, 1);
const hour = (count: number) => CREATED + count * HOUR_MS;
const KNOWN = { keptDays: 30, changeovers: [] };
const RULE: RecurrenceRule = {
  ...{ times: { type: "CRON", cron: "0 * * * *", timezone: "UTC", dst: DEFAULT_DST }, startAt: null, endAt: null },
  ...{ maxFires: null, startWithinMs: null, ...DEFAULT_RECURRENCE },
};

type Change = Partial<Omit<RecurringJob, "plan">> & { plan?: Partial<RecurringJob["plan"]> };

function hourly({ plan = {}, ...change }: Change = {}): RecurringJob {
  const planned = {
    ...({ version: 1, state: "ACTIVE", nextFireAt: hour(6), fired: 5, previous: null, bufferedAt: null } as const),
    ...{ catchUps: [], tzdata: "2026f", ...plan },
  };
  const jobId = recurringJobId("019a0000-0000-7000-8000-000000000000");
  const times = { createdAt: CREATED, updatedAt: CREATED };
  return {
    ...{ jobId, tenant: "default", name: null, version: 1, recurrence: RULE, ...times },
    ...change,
    plan: planned,
  };
}

/** MISSED hours, and the end of the look in hours; a look at the hours 1 to 9. */
function look(job: RecurringJob, traces: Partial<InstantTraces>, limit = 250) {
  const all = { fired: [], skipped: [], ...traces };
  const found = lookForMissed(job, { since: hour(1), until: hour(9) }, all, limit, hour(9), KNOWN);
  const inHours = (at: number | null) => (at === null ? null : (at - CREATED) / HOUR_MS);
  return { ...found, missed: found.missed.map(inHours), aheadAt: inHours(found.aheadAt), until: found.lookedUntil };
}

describe("the search for missed instants in a job", () => {
  it("finds what has neither an execution nor a place in a range of skipped ones", () => {
    const { missed, aheadAt, until, isCut } = look(hourly(), {
      fired: [hour(1)],
      skipped: [{ from: hour(3), to: hour(4) }],
    });
    assert.deepEqual([missed, aheadAt, until, isCut], [[2, 5], null, hour(6), false]);
    assert.deepEqual(look(hourly(), { fired: [1, 2, 3, 4, 5].map(hour) }).missed, []);
    assert.deepEqual(look(hourly(), { skipped: [{ from: hour(0), to: hour(7) }] }).missed, []);
  });

  it("takes for ahead what waits for the execution before it, or is made up for in its turn", () => {
    const catchUp = { nextAt: hour(2), until: hour(4), trigger: "SCHEDULE", open: [] } as never;
    const { missed, aheadAt } = look(hourly({ plan: { bufferedAt: hour(5), catchUps: [catchUp] } }), {});
    assert.deepEqual([missed, aheadAt], [[1, 4], 2]);
  });

  it("judges nothing of an edit that the plan has not followed, nor of the time before one that it has", () => {
    assert.deepEqual(look(hourly({ version: 2 }), {}), {
      missed: [],
      aheadAt: null,
      lookedUntil: hour(1),
      until: hour(1),
      isCut: false,
    });
    assert.deepEqual(look(hourly({ updatedAt: hour(3.5) }), {}).missed, [4, 5]);
  });

  it("ends with the last trace where nothing is planned any more", () => {
    const ended = hourly({ plan: { state: "FINISHED", nextFireAt: null } });
    assert.deepEqual(look(ended, { fired: [hour(2)] }).missed, [1]);
    assert.deepEqual(look(ended, {}).missed, []);
    assert.equal(look(ended, {}).until, hour(9));
  });

  it("expects nothing of a fixed delay", () => {
    const recurrence: RecurrenceRule = { ...RULE, times: { type: "INTERVAL", everyMs: HOUR_MS, mode: "FIXED_DELAY" } };
    assert.deepEqual(look(hourly({ recurrence }), {}).missed, []);
  });

  it("goes no further than its traces were read", () => {
    const { missed, until, isCut } = look(hourly(), { fired: [hour(1), hour(3)] }, 2);
    assert.deepEqual([missed, until, isCut], [[2], hour(3) + 1, true]);
    const many = look(hourly({ plan: { nextFireAt: hour(20) } }), {}, 2);
    assert.deepEqual([many.missed, many.until, many.isCut], [[1, 2, 3, 4], hour(4) + 1, true]);
  });
});
