import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LedgerItem } from "@mainspring/sdk";
import type { Evidence, RecurringJob } from "./evidence.ts";
import { judge, type RuleName } from "./judge.ts";
import { Story } from "./testing/story.ts";

const RULES: readonly RuleName[] = [
  "fireInstantsAreAccountedFor",
  "firesAreNotEarly",
  "firesAreInTime",
  "skipsHaveReasons",
  "pausedJobsRest",
];
const NOON = Date.UTC(2026, 0, 5, 12);
const EACH_SECOND = { cron: "* * * * * *", timezone: "UTC" };
const EACH_OTHER = { cron: "*/2 * * * * *", timezone: "UTC" };

/** A job that fires each second from noon on, with correct fires unless a test changes them. */
class Seconds {
  readonly job: RecurringJob;
  readonly #ledger = new Map<number, LedgerItem[]>();
  readonly #story = new Story();

  constructor(seconds: number, job: Partial<RecurringJob> = {}) {
    const endedAt = NOON + seconds * 1_000 + 500;
    const versions = [{ times: EACH_SECOND, askedAt: NOON - 600, answeredAt: NOON - 500 }];
    const plain = { name: "job", jobId: "recurring", overlap: "ALLOW" as const, pauses: [] };
    this.job = { ...plain, versions, endedAt, ledger: [], ...job };
    for (let second = 0; second <= seconds; second++) this.ran(second);
  }

  ran(second: number, lateMs = 5): this {
    return this.tells(second, [this.fire(second, lateMs)]);
  }

  fire(second: number, lateMs = 5): LedgerItem {
    const at = NOON + second * 1_000;
    const executionId = `${second}+${lateMs}`;
    this.#story
      .job(`job-${executionId}`, {}, executionId)
      .ranUnseen({ attempt: 1, from: at + lateMs, to: at + lateMs + 1 });
    const run = { executionId, trigger: "SCHEDULE", state: "SUCCEEDED" } as const;
    const startedAt = new Date(at + lateMs).toISOString();
    return { ...base(second, "RAN"), run: { ...run, startedAt, latenessMs: lateMs, late: false } };
  }

  skipped(second: number, reason: string): this {
    return this.tells(second, [{ ...base(second, "SKIPPED"), reason }]);
  }

  tells(second: number, items: LedgerItem[]): this {
    this.#ledger.set(second, items);
    return this;
  }

  evidence(): Evidence {
    const evidence = this.#story.evidence();
    return { ...evidence, recurring: [{ ...this.job, ledger: [...this.#ledger.values()].flat() }] };
  }

  broken(faults: Evidence["faults"] = []): RuleName[] {
    const found = new Set(judge({ ...this.evidence(), faults }, "crash").violations.map(({ rule }) => rule));
    return RULES.filter((rule) => found.has(rule));
  }
}

function base(second: number, outcome: LedgerItem["outcome"]): LedgerItem {
  const at = new Date(NOON + second * 1_000).toISOString();
  return { at, local: at, outcome };
}

describe("the judge has nothing to say against a recurring job", () => {
  it("that fires at every planned instant, on time", () => {
    assert.deepEqual(new Seconds(5).broken(), []);
  });

  it("whose skips have a reason that can be true", () => {
    const pauses = [{ askedAt: NOON + 1_500, answeredAt: NOON + 1_600, resumedAt: NOON + 3_500 }];
    assert.deepEqual(new Seconds(5, { pauses }).skipped(2, "PAUSED").skipped(3, "PAUSED").broken(), []);
    assert.deepEqual(new Seconds(5, { overlap: "SKIP" }).skipped(2, "OVERLAP").broken(), []);
  });

  it("that was edited: what either version plans may be there, what both plan must", () => {
    const versions = [
      { times: EACH_SECOND, askedAt: NOON - 600, answeredAt: NOON - 500 },
      { times: EACH_OTHER, askedAt: NOON + 1_500, answeredAt: NOON + 1_600 },
    ];
    assert.deepEqual(new Seconds(4, { versions }).tells(3, []).broken(), []);
    assert.deepEqual(new Seconds(4, { versions }).tells(2, []).broken(), ["fireInstantsAreAccountedFor"]);
    assert.deepEqual(new Seconds(4, { versions }).tells(1, []).broken(), ["fireInstantsAreAccountedFor"]);
    // Instants long after the edit that only the former version planned.
    assert.deepEqual(new Seconds(61, { versions }).broken(), ["fireInstantsAreAccountedFor"]);
  });

  it("that fires late because the server was down", () => {
    const faults = [
      { event: "SERVER_KILLED" as const, at: NOON + 2_500, pid: 1 },
      { event: "SERVER_READY" as const, at: NOON + 42_000, pid: 2 },
    ];
    assert.deepEqual(new Seconds(5).ran(3, 45_000).broken(faults), []);
    assert.deepEqual(new Seconds(5).ran(3, 45_000).broken(), ["firesAreInTime"]);
  });
});

describe("the judge finds, of a recurring job,", () => {
  it("an instant that is nowhere", () => {
    assert.deepEqual(new Seconds(5).tells(2, []).broken(), ["fireInstantsAreAccountedFor"]);
  });

  it("an instant that is there twice, as run or as skipped", () => {
    const twice = new Seconds(5);
    assert.deepEqual(twice.tells(2, [twice.fire(2, 5), twice.fire(2, 6)]).broken(), ["fireInstantsAreAccountedFor"]);
    const both = new Seconds(5, { overlap: "SKIP" });
    const skip: LedgerItem = { ...base(2, "SKIPPED"), reason: "OVERLAP" };
    assert.deepEqual(both.tells(2, [both.fire(2), skip]).broken(), ["fireInstantsAreAccountedFor"]);
  });

  it("two executions of an instant, even if the ledger shows one", () => {
    const story = new Story();
    for (const id of ["one", "other"]) story.job(id).submitted(0).ran({ attempt: 1, from: 1, to: 2 }).ends("SUCCEEDED");
    const { executions } = story.evidence();
    const evidence = new Seconds(1).evidence();
    const doubled = executions.map((execution) => ({ ...execution, jobId: "recurring" }));
    const { violations } = judge({ ...evidence, executions: doubled }, "crash");
    assert.ok(violations.some(({ what }) => what.endsWith("was executed 2 times")));
  });

  it("an instant that nobody planned", () => {
    const versions = [{ times: EACH_OTHER, askedAt: NOON - 600, answeredAt: NOON - 500 }];
    assert.deepEqual(new Seconds(1, { versions }).broken(), ["fireInstantsAreAccountedFor"]);
    const interval = [{ times: { everySec: 2, anchorAt: NOON - 10_001 }, askedAt: NOON - 600, answeredAt: NOON - 500 }];
    assert.deepEqual(new Seconds(1, { versions: interval }).broken(), ["fireInstantsAreAccountedFor"]);
  });

  it("one that was missed, or waits for ever", () => {
    for (const outcome of ["MISSED", "WAITING"] as const) {
      const seconds = new Seconds(5).tells(2, [base(2, outcome)]);
      assert.deepEqual(seconds.broken(), ["fireInstantsAreAccountedFor"]);
    }
  });

  it("one that counts more skips than were planned", () => {
    const seconds = new Seconds(5, { overlap: "SKIP" }).tells(3, []);
    const until = base(3, "SKIPPED").at;
    seconds.tells(2, [{ ...base(2, "SKIPPED"), reason: "OVERLAP", until, count: 3 }]);
    assert.deepEqual(seconds.broken(), ["fireInstantsAreAccountedFor"]);
  });

  it("a fire before its time", () => {
    assert.deepEqual(new Seconds(5).ran(2, -40).broken(), ["firesAreNotEarly"]);
  });

  it("a fire that no handler has seen", () => {
    const seconds = new Seconds(5);
    const told = seconds.fire(2);
    const unseen = { ...told, run: { ...told.run, executionId: "nobody's" } } as LedgerItem;
    assert.deepEqual(seconds.tells(2, [unseen]).broken(), ["firesAreInTime"]);
  });

  it("a skip for a reason that cannot be", () => {
    for (const reason of ["OVERLAP", "PAUSED", "whatever"]) {
      assert.deepEqual(new Seconds(5).skipped(2, reason).broken(), ["skipsHaveReasons"]);
    }
  });

  it("a fire in a pause", () => {
    const pauses = [{ askedAt: NOON + 900, answeredAt: NOON + 1_000, resumedAt: NOON + 50_000 }];
    assert.deepEqual(new Seconds(45, { pauses }).broken(), ["pausedJobsRest"]);
  });
});
