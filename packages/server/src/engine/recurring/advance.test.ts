import "../../domain/schedule/testing/zones.ts";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Plan, RecurrenceRule, Skip } from "../../domain/recurrence.ts";
import { scheduleOf } from "../../domain/recurrence.ts";
import { spreadShiftMs } from "../../domain/schedule/spread.ts";
import type { PlanCommand, PlanOrder } from "../../ports/store-commands.ts";
import { MINUTE, planOf, ruleOf } from "../testing/recurring.ts";
import { only, START } from "../testing/story.ts";
import { type Advanced, advance } from "./advance.ts";
import type { FiredBefore } from "./catch-ups.ts";
import { PlanDraft } from "./draft.ts";

const JOB = "f0000000-0000-7000-8000-000000000001";

/** A plan that advances when the test says so, with the outcomes of its instants. */
class Told {
  rule: RecurrenceRule;
  plan: Plan;
  version = 1;
  now = START;
  open = new Set<string>();
  endedAt: number | null = null;
  fired: number[] = [];
  skips: Skip[] = [];
  commands: PlanCommand[] = [];
  outcomes: string[] = [];
  question: Advanced["question"] = null;
  more = false;
  before: FiredBefore | null = null;

  constructor(rule: Partial<RecurrenceRule> = {}, plan: Partial<Plan> = {}) {
    this.rule = ruleOf(rule);
    this.plan = planOf(plan);
  }

  order(order: PlanOrder, id = "command-1"): this {
    this.commands.push({ kind: "PLAN", id, shard: 0, jobId: JOB, order });
    return this;
  }

  at(ms: number, budget = { created: 1_000, instants: 5_000 }): this {
    this.now = START + ms;
    const schedule = scheduleOf(this.rule, JOB, START);
    const { version, rule, plan, open, endedAt } = this;
    const draft = new PlanDraft(
      { jobId: JOB, createdAt: START, version, rule, schedule, plan, open, endedAt },
      this.now,
      [],
      budget,
    );
    const { outcomes, question } = advance(draft, this.commands, this.before);
    this.commands.splice(0, outcomes.length);
    this.outcomes.push(...outcomes);
    Object.assign(this, { question, plan: draft.plan, open: draft.open, more: draft.more, endedAt: draft.endedAt });
    this.fired.push(...draft.fires.map(({ plannedAt }) => plannedAt - START));
    this.skips.push(...draft.skips.rows());
    return this;
  }

  /** Ends all running executions. */
  end(): this {
    this.open.clear();
    this.endedAt = this.now;
    return this;
  }

  get skipped(): [number, string][] {
    return this.skips.map(({ from, reason }) => [from - START, reason]);
  }
}

describe("a plan that is on time", () => {
  it("fires at its instant and not a millisecond before", () => {
    const told = new Told().at(MINUTE - 1);
    assert.deepEqual([told.fired, told.plan], [[], planOf()]);
    told.at(MINUTE);
    assert.deepEqual(told.fired, [MINUTE]);
    assert.equal(told.plan.nextFireAt, START + 2 * MINUTE);
    assert.deepEqual([...told.open], [told.plan.previous]);
  });

  it("ends when it has fired as often as it may, or when its time is over", () => {
    const counted = new Told({ maxFires: 2 })
      .at(MINUTE)
      .end()
      .at(2 * MINUTE);
    assert.deepEqual([counted.plan.state, counted.plan.nextFireAt, counted.fired.length], ["FINISHED", null, 2]);
    const timed = new Told({ endAt: START + 2 * MINUTE })
      .at(MINUTE)
      .end()
      .at(10 * MINUTE);
    assert.deepEqual([timed.plan.state, timed.fired], ["FINISHED", [MINUTE]]);
  });

  it("counts a fixed delay from the end of the last", () => {
    const told = new Told({ times: { type: "INTERVAL", everyMs: MINUTE, mode: "FIXED_DELAY" } }).at(MINUTE);
    assert.equal(told.plan.nextFireAt, null);
    told
      .at(3 * MINUTE + 7)
      .end()
      .at(3 * MINUTE + 7);
    assert.equal(told.plan.nextFireAt, START + 4 * MINUTE + 7);
    assert.deepEqual(told.at(4 * MINUTE + 7).fired, [MINUTE, 4 * MINUTE + 7]);
  });
});

describe("an instant that comes while the one before it runs", () => {
  it("runs too, is skipped, or waits, as the job says", () => {
    const fired = (overlap: RecurrenceRule["overlap"]) => {
      const told = new Told({ overlap })
        .at(MINUTE)
        .at(2 * MINUTE)
        .at(3 * MINUTE);
      return { ...told, first: [...told.fired], later: told.end().at(3.5 * MINUTE).fired, skipped: told.skipped };
    };
    assert.deepEqual(fired("ALLOW").first, [MINUTE, 2 * MINUTE, 3 * MINUTE]);
    const skip = fired("SKIP");
    assert.deepEqual([skip.later, skip.skipped.length], [[MINUTE], 2]);
    const buffer = fired("BUFFER_ONE");
    assert.deepEqual(buffer.later, [MINUTE, 2 * MINUTE]);
    assert.deepEqual(buffer.skipped, [[3 * MINUTE, "OVERLAP"]]);
    const cancel = fired("CANCEL_PREVIOUS");
    assert.deepEqual(cancel.later, [MINUTE, 3 * MINUTE], "the newest waits for the end");
    assert.deepEqual(cancel.skipped, [[2 * MINUTE, "OVERLAP"]]);
  });

  it("does not end a job whose last instant waits", () => {
    const told = new Told({ overlap: "BUFFER_ONE", endAt: START + 3 * MINUTE }).at(MINUTE).at(2 * MINUTE);
    assert.deepEqual([told.plan.state, told.plan.nextFireAt], ["ACTIVE", null]);
    assert.deepEqual(told.end().at(5 * MINUTE).fired, [MINUTE, 2 * MINUTE]);
    assert.equal(told.plan.state, "FINISHED");
  });
});

describe("an owner that comes back late", () => {
  it("fires the newest of what it missed, once", () => {
    const told = new Told({ misfireGraceMs: 0 }).at(10.5 * MINUTE);
    assert.deepEqual(told.fired, [10 * MINUTE]);
    assert.deepEqual(told.skipped[8], [9 * MINUTE, "MISFIRE"]);
    assert.equal(told.skips.length, 9);
    assert.equal(told.plan.nextFireAt, START + 11 * MINUTE);
  });

  it("fires within the grace time as if on time", () => {
    const told = new Told({ misfire: "SKIP", misfireGraceMs: 2 * MINUTE, overlap: "ALLOW" }).at(5.5 * MINUTE);
    assert.deepEqual(told.fired, [4 * MINUTE, 5 * MINUTE]);
    assert.deepEqual(
      told.skipped.map(([at]) => at),
      [MINUTE, 2 * MINUTE, 3 * MINUTE],
    );
  });

  it("makes up for the newest, one after the other, and says what it left out", () => {
    const told = new Told({ misfire: "FIRE_ALL", maxCatchUp: 3, misfireGraceMs: 0 }).at(5.5 * MINUTE);
    assert.deepEqual(told.skipped, [
      [MINUTE, "MISFIRE_LIMIT"],
      [2 * MINUTE, "MISFIRE_LIMIT"],
    ]);
    assert.deepEqual(told.fired, [3 * MINUTE]);
    told
      .at(5.6 * MINUTE)
      .end()
      .at(5.7 * MINUTE)
      .end()
      .at(5.8 * MINUTE);
    assert.deepEqual(told.fired, [3 * MINUTE, 4 * MINUTE, 5 * MINUTE]);
    assert.equal(only(told.plan.catchUps).open.length, 1, "it counts for overlap until it ends");
    assert.deepEqual(told.at(6 * MINUTE).skipped.at(-1), [6 * MINUTE, "OVERLAP"]);
    assert.deepEqual(told.end().at(6.5 * MINUTE).plan.catchUps, []);
    assert.deepEqual(told.at(7 * MINUTE).fired.at(-1), 7 * MINUTE);
  });

  it("writes more than 100 in a row as one row, and goes on where it stopped", () => {
    const told = new Told({ misfire: "SKIP", misfireGraceMs: 0 });
    const budget = () => ({ created: 10, instants: 150 });
    told.at(250.5 * MINUTE, budget());
    assert.ok(told.more);
    told.at(250.5 * MINUTE, budget());
    assert.ok(!told.more);
    assert.deepEqual(told.skips[0], { from: START + MINUTE, to: START + 151 * MINUTE, count: 151, reason: "MISFIRE" });
    assert.equal(told.skips.length, 1 + 99);
    assert.equal(told.plan.nextFireAt, START + 251 * MINUTE);
  });
});

describe("a pause", () => {
  const pause = (ms: number) => ({ kind: "PAUSE", at: START + ms }) as const;
  const resume = (ms: number, catchUp = false) => ({ kind: "RESUME", at: START + ms, catchUp }) as const;

  it("lets fire what was planned before it, and accounts for the rest when it ends", () => {
    const told = new Told().order(pause(2.5 * MINUTE)).at(3.5 * MINUTE);
    assert.deepEqual([told.fired, told.plan.state], [[2 * MINUTE], "PAUSED"]);
    assert.deepEqual(told.skipped, [[MINUTE, "MISFIRE"]]);
    told
      .end()
      .at(9 * MINUTE)
      .order(resume(5.5 * MINUTE))
      .at(5.5 * MINUTE);
    assert.deepEqual(told.skipped.slice(1), [
      [3 * MINUTE, "PAUSED"],
      [4 * MINUTE, "PAUSED"],
      [5 * MINUTE, "PAUSED"],
    ]);
    assert.deepEqual([told.plan.state, told.plan.nextFireAt], ["ACTIVE", START + 6 * MINUTE]);
    assert.deepEqual(told.outcomes, ["PLANNED", "PLANNED"]);
  });

  it("holds back what waited when it began, and that goes first when it ends", () => {
    const told = new Told({ overlap: "BUFFER_ONE", misfireGraceMs: 0 }).at(MINUTE).at(2 * MINUTE);
    told.order(pause(2.5 * MINUTE)).at(2.5 * MINUTE);
    told
      .end()
      .at(2.6 * MINUTE)
      .at(3.5 * MINUTE);
    assert.deepEqual([told.fired, told.plan.bufferedAt], [[MINUTE], START + 2 * MINUTE]);
    told.order(resume(3.5 * MINUTE, true)).at(3.5 * MINUTE);
    assert.deepEqual([told.fired, told.plan.bufferedAt], [[MINUTE, 2 * MINUTE], START + 3 * MINUTE]);
  });

  it("holds back what is made up for", () => {
    const told = new Told({ misfire: "FIRE_ALL", misfireGraceMs: 0 }).at(3.5 * MINUTE);
    told.order(pause(3.6 * MINUTE)).at(3.6 * MINUTE);
    told.end().at(3.7 * MINUTE);
    assert.deepEqual([told.fired, told.plan.state], [[MINUTE], "PAUSED"]);
    told.order(resume(3.8 * MINUTE)).at(3.8 * MINUTE);
    assert.deepEqual(told.fired, [MINUTE, 2 * MINUTE]);
  });

  it("is made up for where that is asked for", () => {
    const told = new Told()
      .order(pause(0))
      .at(1)
      .order(resume(3.5 * MINUTE, true))
      .at(3.5 * MINUTE);
    assert.deepEqual([told.fired, told.skipped.length], [[3 * MINUTE], 2]);
  });

  it("of years is accounted for in pieces, and the command stays open until then", () => {
    const told = new Told()
      .order(pause(0))
      .at(1)
      .order(resume(400 * MINUTE))
      .at(400 * MINUTE, { created: 1, instants: 300 });
    assert.deepEqual([told.outcomes.length, told.plan.state, told.more], [1, "PAUSED", true]);
    told.at(400 * MINUTE);
    assert.deepEqual([told.outcomes.length, told.plan.state, told.fired], [2, "ACTIVE", [400 * MINUTE]]);
    assert.equal(
      told.skips.reduce((sum, { count }) => sum + count, 0),
      399,
    );
  });

  it("waits for its time when the clock of who gave it is ahead", () => {
    const told = new Told()
      .order(pause(2.5 * MINUTE))
      .at(MINUTE)
      .end()
      .at(2 * MINUTE);
    assert.deepEqual([told.fired, told.outcomes], [[MINUTE, 2 * MINUTE], []]);
    assert.deepEqual(told.at(2.5 * MINUTE).outcomes, ["PLANNED"]);
  });
});

describe("a backfill", () => {
  const order = { kind: "BACKFILL", since: START + MINUTE, until: START + 5 * MINUTE, limit: 2 } as const;

  it("runs so many at once, and none that has run", () => {
    const told = new Told({}, { nextFireAt: START + 10 * MINUTE }).order(order).at(9.5 * MINUTE);
    assert.deepEqual([told.outcomes, told.fired], [["PLANNED"], []]);
    const question = told.question as NonNullable<Advanced["question"]>;
    assert.deepEqual(question, { catchUpId: "command-1", since: START + MINUTE, until: START + 5 * MINUTE });
    told.before = { ...question, instants: new Set([START + 2 * MINUTE]) };
    assert.deepEqual(told.at(9.6 * MINUTE).fired, [MINUTE, 3 * MINUTE]);
    assert.deepEqual(told.at(9.7 * MINUTE).fired.length, 2);
    assert.deepEqual(
      told
        .order(order, "command-2")
        .at(9.7 * MINUTE)
        .outcomes.at(-1),
      "BACKFILL_OPEN",
    );
    assert.deepEqual(told.end().at(9.8 * MINUTE).fired, [MINUTE, 3 * MINUTE, 4 * MINUTE]);
    assert.deepEqual(told.at(10 * MINUTE).fired.at(-1), 10 * MINUTE, "what is planned is not held up by it");
    assert.deepEqual([told.end().at(10.1 * MINUTE).plan.catchUps, told.plan.fired], [[], 1]);
  });
});

describe("an edited job", () => {
  it("is planned again from now on; what had waited stays, and how often it fired", () => {
    const told = new Told({ overlap: "BUFFER_ONE" }).at(MINUTE).at(2 * MINUTE);
    told.rule = ruleOf({ overlap: "BUFFER_ONE", times: { type: "INTERVAL", everyMs: 7_000, mode: "FIXED_RATE" } });
    told.version = 2;
    told.at(2.5 * MINUTE);
    assert.deepEqual([told.plan.version, told.plan.nextFireAt], [2, START + 22 * 7_000]);
    assert.deepEqual([told.plan.bufferedAt, told.plan.fired], [START + 2 * MINUTE, 1]);
  });

  it("accounts for what it had planned before by the rule that planned it, in the order of all that was asked", () => {
    const every = (everyMs: number) =>
      ruleOf({ times: { type: "INTERVAL", everyMs, mode: "FIXED_RATE" }, overlap: "ALLOW" });
    const told = new Told();
    const look = (version: number, everyMs: number, untilMs: number) =>
      told.order(
        { kind: "LOOK", former: { version, rule: every(everyMs), until: START + untilMs } },
        `edit-${version}`,
      );
    look(1, MINUTE, 2.5 * MINUTE).order({ kind: "PAUSE", at: START + 100 * MINUTE }, "pause");
    look(2, 40_000, 200 * MINUTE);
    told.rule = every(3_600_000);
    told.version = 3;
    told.at(3.4 * MINUTE);
    assert.deepEqual([told.skipped, told.fired], [[[MINUTE, "MISFIRE"]], [2 * MINUTE, 160_000, 200_000]]);
    assert.deepEqual([told.outcomes, told.plan.version], [["PLANNED"], 2]);
    told.commands.shift();
    told.at(3.4 * MINUTE);
    assert.deepEqual([told.plan.version, told.plan.nextFireAt], [3, START + 3_600_000]);
  });

  it("with a fixed delay keeps what was planned from an end, and plans nothing that another kind of rule had", () => {
    const delay = (everyMs: number) => ruleOf({ times: { type: "INTERVAL", everyMs, mode: "FIXED_DELAY" } });
    const edited = (former: RecurrenceRule, rule: RecurrenceRule) => {
      const told = new Told(former).at(MINUTE).end();
      told.at(MINUTE + 30_000).order({ kind: "LOOK", former: { version: 1, rule: former, until: START + 100_000 } });
      told.rule = rule;
      told.version = 2;
      return (told.at(100_000).plan.nextFireAt ?? 0) - START;
    };
    assert.equal(edited(delay(MINUTE), delay(10 * MINUTE)), 2 * MINUTE);
    assert.equal(edited(delay(MINUTE), delay(10_000)), 110_000);
    assert.equal(edited(delay(MINUTE), { ...delay(10_000), startAt: START + 200_000 }), 200_000);
    assert.equal(edited(delay(MINUTE), { ...delay(10 * MINUTE), endAt: START + 130_000 }), 2 * MINUTE);
    assert.equal(edited(ruleOf(), delay(10 * MINUTE)), 10 * MINUTE);
  });

  it("counts the delay from the end of what an earlier rule fired, also with a spread", () => {
    const everyMs = 47_000;
    const told = new Told({ times: { type: "INTERVAL", everyMs: MINUTE, mode: "FIXED_DELAY" } });
    const former = told.rule;
    told.order({ kind: "LOOK", former: { version: 1, rule: former, until: START + 1 } });
    told.rule = ruleOf({ times: { type: "INTERVAL", everyMs, mode: "FIXED_DELAY" }, spreadSec: 60 });
    told.version = 2;
    told.at(1).at(MINUTE).end();
    assert.deepEqual(told.fired, [MINUTE]);
    told.at(MINUTE + 1);
    const anchor = everyMs + spreadShiftMs(JOB, 60);
    assert.equal(told.plan.nextFireAt, START + Math.max(MINUTE + everyMs, anchor));
    assert.ok(anchor > MINUTE && anchor < MINUTE + everyMs, "or it would be no question");
  });

  it("fires what had fallen due before, where nothing remembers more", () => {
    const told = new Told();
    told.rule = ruleOf({ times: { type: "INTERVAL", everyMs: 3_600_000, mode: "FIXED_RATE" } });
    told.version = 2;
    assert.deepEqual(told.at(1.5 * MINUTE).fired, [MINUTE]);
    assert.equal(told.plan.nextFireAt, START + 3_600_000);
  });
});
