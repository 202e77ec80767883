import assert from "node:assert/strict";
import { describe, it } from "node:test";
import "../../domain/schedule/testing/zones.ts";
import { recurringJobId, scheduleOf } from "../../domain/recurrence.ts";
import type { ExecutionSummary, JobView, LedgerItem } from "../../ports/store-queries.ts";
import { jobDefinition } from "../submit/job-definition.ts";
import { type Account, accountsOf } from "./ledger.ts";

const HOUR_MS = 3_600_000;
const CREATED = Date.UTC(2026, 0, 1);
const JOB_ID = recurringJobId("019a0000-0000-7000-8000-000000000000");
const PAST = { keptDays: 30, changeovers: [] };
const hour = (count: number) => CREATED + count * HOUR_MS;

type Change = Partial<JobView> & { planned?: Partial<NonNullable<JobView["plan"]>> };

function hourly({ planned = {}, ...change }: Change = {}): JobView {
  const definition = jobDefinition({ target: { handler: "echo" }, schedule: "@hourly" }, CREATED);
  const plan = {
    ...({ version: 1, state: "ACTIVE", nextFireAt: hour(5), fired: 4, previous: null } as const),
    ...{ bufferedAt: null, catchUps: [], tzdata: "2026c", ...planned },
  };
  return {
    ...({ jobId: JOB_ID, tenant: "default", name: null, state: "ACTIVE", type: "CRON", version: 1, plan } as const),
    ...{ pool: "default", handler: "echo", priority: 5, scheduledAt: CREATED, labels: {} },
    ...{ createdAt: CREATED, updatedAt: CREATED, definition, payload: null, latestExecutions: [], ...change },
  };
}

const ran = (at: number, lateMs = 5, state: ExecutionSummary["state"] = "SUCCEEDED"): LedgerItem => {
  const startedAt = state === "PENDING" || state === "SKIPPED" ? null : at + lateMs;
  const reason = state === "SKIPPED" ? "EXPIRED" : null;
  return { plannedAt: at, execution: { state, startedAt, reason, scheduledAt: at } as ExecutionSummary };
};
const skipped = (from: number, until = from, count = 1): LedgerItem => ({
  plannedAt: from,
  skipped: { until, count, reason: "OVERLAP" },
});

/** Entries as `hour outcome`, the newest first. */
function told(
  job: JobView,
  items: LedgerItem[],
  now = hour(4.5),
  ranges: { from: number; to: number }[] = [],
): string[] {
  const rule = job.definition.recurrence;
  const [since, until] = [0, now + 1];
  assert.ok(rule);
  const text = ({ from, count, outcome, reason, isLate }: Account) =>
    [(from - CREATED) / HOUR_MS, outcome, count > 1 && `x${count}`, reason, isLate && "late"]
      .filter((word) => word !== null && word !== false)
      .join(" ");
  return accountsOf(job, rule, { since, until, items, ranges }, now, PAST).map(text);
}

describe("the ledger", () => {
  it("says what ran, late or not, what waits, and what was skipped and why", () => {
    const items = [ran(hour(4), 0, "PENDING"), ran(hour(3), 90_000), ran(hour(2), 0, "SKIPPED"), skipped(hour(1))];
    const now = hour(4) + 1_000;
    assert.deepEqual(told(hourly(), items, now), ["4 WAITING", "3 RAN late", "2 SKIPPED EXPIRED", "1 SKIPPED OVERLAP"]);
    assert.deepEqual(told(hourly(), items, hour(4.5))[0], "4 WAITING late");
  });

  it("takes what a backfill made for due when it was made", () => {
    const item = ran(hour(2), 90 * 60_000) as Extract<LedgerItem, { execution: unknown }>;
    const backfilled = (createdAt: number): LedgerItem => {
      return { ...item, execution: { ...item.execution, trigger: "BACKFILL", createdAt } };
    };
    const rest = [ran(hour(4)), ran(hour(3))];
    assert.ok(told(hourly(), [...rest, item]).includes("2 RAN late"));
    assert.ok(told(hourly(), [...rest, backfilled(hour(3.5) - 50_000)]).includes("2 RAN"));
    assert.ok(told(hourly(), [...rest, backfilled(hour(3.5) - 70_000)]).includes("2 RAN late"));
  });

  it("shows planned instants without a trace, up to what the plan has accounted for", () => {
    assert.deepEqual(told(hourly(), [ran(hour(3))]), ["4 MISSED", "3 RAN", "1 MISSED x2"]);
    assert.deepEqual(told(hourly({ planned: { nextFireAt: hour(4) } }), [ran(hour(3)), ran(hour(2)), ran(hour(1))]), [
      "3 RAN",
      "2 RAN",
      "1 RAN",
    ]);
  });

  it("counts a range of skipped ones as there", () => {
    assert.deepEqual(told(hourly(), [ran(hour(4)), skipped(hour(1), hour(3), 3)]), ["4 RAN", "1 SKIPPED x3 OVERLAP"]);
    // A backfill ran one of them, and the range may be on another page.
    assert.deepEqual(told(hourly(), [ran(hour(2)), skipped(hour(1), hour(4), 3)]), ["2 RAN", "1 SKIPPED x3 OVERLAP"]);
    assert.deepEqual(told(hourly(), [ran(hour(2))], hour(4.5), [{ from: hour(1), to: hour(4) }]), ["2 RAN"]);
  });

  it("does not judge what was planned by an earlier definition, or may be forgotten", () => {
    assert.deepEqual(told(hourly({ updatedAt: hour(2.5) }), [ran(hour(4))]), ["4 RAN", "3 MISSED"]);
    // The plan has not followed the edit yet.
    assert.deepEqual(told(hourly({ version: 2 }), [ran(hour(4))]), ["4 RAN"]);
    const late = hour(PAST.keptDays * 24 + 6);
    assert.deepEqual(told(hourly({ planned: { nextFireAt: hour(5) } }), [], late), []);
  });

  it("waits for what the plan holds back", () => {
    const buffered = hourly({ planned: { bufferedAt: hour(4) } });
    assert.deepEqual(told(buffered, [ran(hour(3)), ran(hour(2)), ran(hour(1))])[0], "4 WAITING");
    const { recurrence } = hourly().definition;
    assert.ok(recurrence);
    const schedule = scheduleOf(recurrence, JOB_ID, CREATED);
    const range = { nextAt: hour(2), until: hour(4), limit: 1, open: [] };
    const catchUp = { id: JOB_ID, trigger: "SCHEDULE" as const, schedule, ...range };
    assert.deepEqual(told(hourly({ planned: { catchUps: [catchUp] } }), [ran(hour(1))]), [
      "4 MISSED",
      "2 WAITING x2",
      "1 RAN",
    ]);
  });

  it("expects nothing of a job that has ended after its last entry, nor of a fixed delay", () => {
    const ended = hourly({ state: "FINISHED", planned: { state: "FINISHED", nextFireAt: null } });
    assert.deepEqual(told(ended, [ran(hour(2))]), ["2 RAN", "1 MISSED"]);
    const definition = jobDefinition({ target: { handler: "echo" }, everySec: 60, everyMode: "FIXED_DELAY" }, CREATED);
    assert.deepEqual(told(hourly({ definition }), [ran(hour(2))]), ["2 RAN"]);
  });
});
