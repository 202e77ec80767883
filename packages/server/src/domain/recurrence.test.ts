import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DEFAULT_RECURRENCE, isRecurringJobId, type RecurrenceRule, recurringJobId, scheduleOf } from "./recurrence.ts";
import { firstFire, nextFire } from "./schedule/fires.ts";

const JOB = "f166dce5-0d65-741f-8b06-66bdd16ef6b0";
const CREATED = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;

function everyMinute(fields: Partial<RecurrenceRule> = {}): RecurrenceRule {
  const times = { type: "INTERVAL", everyMs: MINUTE_MS, mode: "FIXED_RATE" } as const;
  return { times, startAt: null, endAt: null, maxFires: null, startWithinMs: null, ...DEFAULT_RECURRENCE, ...fields };
}

describe("the schedule of a job", () => {
  it("lets an interval pass before it first fires, wherever the spread puts its instants", () => {
    assert.equal(firstFire(scheduleOf(everyMinute(), JOB, CREATED), CREATED), CREATED + MINUTE_MS);
    const spread = scheduleOf(everyMinute({ spreadSec: 30 }), JOB, CREATED);
    assert.ok(spread.shiftMs > 0);
    const first = firstFire(spread, CREATED) as number;
    assert.equal(first, CREATED + MINUTE_MS + spread.shiftMs);
    assert.equal(nextFire(spread, first, 1), first + MINUTE_MS);
  });

  it("begins where it was told to begin", () => {
    const startAt = CREATED + 5_000;
    assert.equal(firstFire(scheduleOf(everyMinute({ startAt }), JOB, CREATED), CREATED), startAt);
  });
});

describe("the id of a recurring job", () => {
  it("is of a range that no other id is of", () => {
    const id = "0166dce5-0d65-741f-8b06-66bdd16ef6b0";
    assert.equal(recurringJobId(id), `8${id.slice(1)}`);
    assert.deepEqual(
      [isRecurringJobId(id), isRecurringJobId(recurringJobId(id)), isRecurringJobId(JOB)],
      [false, true, true],
    );
  });
});
