import assert from "node:assert/strict";
import { describe, it } from "node:test";
import "../../domain/schedule/testing/zones.ts";
import { DEFAULT_RECURRENCE, type RecurrenceRule, recurringJobId } from "../../domain/recurrence.ts";
import type { ExecutionView, JobView } from "../../ports/store-queries.ts";
import { accountedUntil } from "./accounted-until.ts";

const CREATED = Date.UTC(2026, 0, 1);
const NOW = CREATED + 600_000;
const DELAY: RecurrenceRule = {
  ...{ times: { type: "INTERVAL", everyMs: 60_000, mode: "FIXED_DELAY" }, startAt: null, endAt: null, maxFires: null },
  ...{ startWithinMs: null, ...DEFAULT_RECURRENCE },
};

interface Asked {
  state?: JobView["state"];
  version?: number;
  nextFireAt?: number;
  finishedAt?: number;
  rule?: RecurrenceRule;
}

/** Result in milliseconds after NOW, for a job whose execution has or has not ended. */
async function told({ state = "ACTIVE", version = 1, nextFireAt, finishedAt, rule = DELAY }: Asked) {
  const plan = {
    ...({ version: 1, state: "ACTIVE", fired: 1, bufferedAt: null, catchUps: [], tzdata: "2026f" } as const),
    ...{ nextFireAt: nextFireAt ?? null, previous: "019a0000-0000-7000-8000-000000000001" },
  };
  const jobId = recurringJobId("019a0000-0000-7000-8000-000000000000");
  const job = { jobId, tenant: "default", state, version, createdAt: CREATED, plan };
  const getExecution = async () => ({ finishedAt: finishedAt ?? null }) as ExecutionView;
  const until = await accountedUntil(job, rule, NOW, { getExecution });
  return until === null ? null : until - NOW;
}

describe("the instant up to which a job is accounted for", () => {
  it("is the next planned one", async () => {
    assert.equal(await told({ nextFireAt: NOW + 7 }), 7);
  });

  it("is the present for a fixed delay whose execution has not ended, also while it is paused", async () => {
    assert.equal(await told({}), 0);
    assert.equal(await told({ state: "PAUSED" }), 0);
  });

  it("counts from the end of the execution where the plan has not followed that yet", async () => {
    assert.equal(await told({ finishedAt: NOW - 10_000 }), 50_000);
    assert.equal(await told({ finishedAt: NOW - 100_000 }), -40_000);
  });

  it("is none where nothing is planned any more, or the plan has not followed an edit", async () => {
    assert.equal(await told({ state: "FINISHED" }), null);
    assert.equal(await told({ state: "DELETED" }), null);
    assert.equal(await told({ version: 2 }), null);
    assert.equal(await told({ finishedAt: NOW, rule: { ...DELAY, maxFires: 1 } }), null);
    assert.equal(
      await told({ rule: { ...DELAY, times: { type: "INTERVAL", everyMs: 60_000, mode: "FIXED_RATE" } } }),
      null,
    );
  });
});
