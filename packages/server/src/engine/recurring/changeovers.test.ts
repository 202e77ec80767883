import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import fc from "fast-check";
import { packagedZones } from "../../adapters/system/time-zone-data.ts";
import type { Changeover } from "../../domain/changeover.ts";
import { DEFAULT_RECURRENCE, type Plan, type RecurrenceRule, scheduleOf } from "../../domain/recurrence.ts";
import { nextFire } from "../../domain/schedule/fires.ts";
import { plannedInstants } from "../../domain/schedule/planned.ts";
import { DEFAULT_DST } from "../../domain/schedule/schedule.ts";
import { keepFormerZones } from "../../domain/schedule/testing/zones.ts";
import { keepZoneData, ZoneData } from "../../domain/schedule/zones/zone-data.ts";
import { zoneFilesOf } from "../../domain/schedule/zones/zone-files.ts";
import type { PlanCommand, PlanOrder } from "../../ports/store-commands.ts";
import { advance } from "./advance.ts";
import { PlanDraft } from "./draft.ts";

const JOB = "81999999-0000-7000-8000-000000000001";
const CREATED = Date.parse("2026-01-01T00:00:00Z");
const FROM = Date.parse("2026-11-21T12:00:00Z");
const MINUTE = 60_000;

before(keepFormerZones);

/** A job that fires by the clocks of a zone while the rules change; overlaps have no effect. */
class Told {
  readonly rule: RecurrenceRule;
  plan: Plan;
  changeovers: Changeover[] = [];
  readonly fired: string[] = [];
  readonly skipped: string[] = [];

  constructor(cron: string, timezone: string, from: string, rule: Partial<RecurrenceRule> = {}, version = "2025b") {
    const times = { type: "CRON", cron, timezone, dst: DEFAULT_DST } as const;
    const rest = { startAt: null, endAt: null, maxFires: null, startWithinMs: null };
    this.rule = { ...DEFAULT_RECURRENCE, times, ...rest, overlap: "ALLOW", ...rule };
    this.since(version, "1970-01-01T00:00:00Z");
    const schedule = { ...scheduleOf(this.rule, JOB, CREATED), tzdata: version };
    this.plan = {
      ...{ version: 1, state: "ACTIVE", fired: 0, previous: null, bufferedAt: null, catchUps: [] },
      ...{ nextFireAt: nextFire(schedule, Date.parse(from), 0), tzdata: `${version}/1` },
    };
  }

  since(version: string, at: string): this {
    this.changeovers = [...this.changeovers, { number: this.changeovers.length + 1, version, since: Date.parse(at) }];
    return this;
  }

  /** Gives an operator's command at this time. */
  order(time: string, order: PlanOrder): this {
    return this.at(time, [{ id: "1", shard: 0, kind: "PLAN", jobId: JOB, order }]);
  }

  at(time: string, commands: PlanCommand[] = []): this {
    const now = Date.parse(time);
    for (let more = true; more; ) {
      const facts = { jobId: JOB, createdAt: CREATED, version: 1, rule: this.rule, plan: this.plan, endedAt: null };
      const schedule = scheduleOf(this.rule, JOB, CREATED);
      const budget = { created: 1_000, instants: 5_000 };
      const draft = new PlanDraft({ ...facts, schedule, open: new Set() }, now, this.changeovers, budget);
      advance(draft, commands, null);
      this.plan = draft.plan;
      more = draft.more;
      this.fired.push(...draft.fires.map(({ plannedAt }) => iso(plannedAt)));
      this.skipped.push(
        ...draft.skips.rows().map(({ from, to, count, reason }) => {
          return count === 1 ? `${iso(from)} ${reason}` : `${iso(from)} to ${iso(to)} ${count} ${reason}`;
        }),
      );
    }
    return this;
  }

  /** Advances the plan once a minute. */
  through(from: string, until: string): this {
    for (let at = Date.parse(from); at <= Date.parse(until); at += MINUTE) this.at(new Date(at).toISOString());
    return this;
  }

  get next(): string {
    return iso(this.plan.nextFireAt as number);
  }
}

const iso = (at: number) => new Date(at).toISOString().slice(0, 16);

describe("an instant that newer rules place earlier", () => {
  it("fires late where its time has passed already: daily at nine in Edmonton, planned an hour too late", () => {
    const told = new Told("0 9 * * *", "America/Edmonton", "2026-11-22T00:00:00Z");
    assert.equal(told.next, "2026-11-22T16:00");
    told.at("2026-11-22T15:40:00Z").since("2026f", "2026-11-22T15:43:00Z").at("2026-11-22T15:43:00Z");
    assert.deepEqual(told.fired, ["2026-11-22T15:00"]);
    assert.deepEqual(told.skipped, []);
    assert.equal(told.next, "2026-11-23T15:00");
  });

  it("fires within its month, and not a month later", () => {
    const told = new Told("0 9 22 * *", "America/Vancouver", "2026-11-01T12:00:00Z");
    assert.equal(told.next, "2026-11-22T17:00");
    told.since("2026c", "2026-11-22T16:20:00Z").at("2026-11-22T16:20:00Z");
    assert.deepEqual([told.fired, told.next], [["2026-11-22T16:00"], "2026-12-22T16:00"]);
  });

  it("is skipped, and accounted for, where the job says so of misfires", () => {
    const told = new Told("0 9 * * *", "America/Winnipeg", "2026-11-22T00:00:00Z", { misfire: "SKIP" }, "2026c");
    told.since("2026f", "2026-11-22T14:30:00Z").at("2026-11-22T14:30:00Z");
    assert.deepEqual([told.fired, told.skipped], [[], ["2026-11-22T14:00 MISFIRE"]]);
    assert.equal(told.next, "2026-11-23T14:00");
  });

  it("is found where nobody has the former rules any more", () => {
    const told = new Told("0 9 * * *", "America/Edmonton", "2026-11-22T00:00:00Z");
    told.plan = { ...told.plan, tzdata: "2024x" };
    told.changeovers = [{ number: 1, version: "2026f", since: Date.parse("2026-11-22T15:43:00Z") }];
    told.at("2026-11-22T15:43:00Z");
    assert.deepEqual([told.fired, told.next], [["2026-11-22T15:00"], "2026-11-23T15:00"]);
  });
});

describe("an instant that other rules place later", () => {
  for (const fold of ["FIRST", "LAST", "BOTH"] as const)
    it(`is found in a zone whose clocks are never set again, with fold ${fold}`, () => {
      const dst = { gap: "SHIFT", fold } as const;
      const times = { type: "CRON", cron: "0 9 * * *", timezone: "America/Winnipeg", dst } as const;
      const told = new Told("0 9 * * *", "America/Winnipeg", "2026-11-21T00:00:00Z", { times }, "2026c");
      told.since("2026f", "2026-11-21T15:30:00Z").through("2026-11-21T15:00:00Z", "2026-11-21T15:31:00Z");
      assert.deepEqual([told.fired, told.next], [["2026-11-21T15:00"], "2026-11-22T14:00"]);
    });

  it("does not fire twice for one time on the wall", () => {
    const told = new Told("0 9 * * *", "America/Edmonton", "2026-11-22T00:00:00Z", {}, "2026f");
    told.at("2026-11-22T15:00:00Z").since("2025b", "2026-11-22T15:30:00Z").at("2026-11-22T15:30:00Z");
    assert.deepEqual(told.fired, ["2026-11-22T15:00"]);
    assert.equal(told.next, "2026-11-23T16:00");
  });

  it("moves with its job where it has not come yet", () => {
    const told = new Told("0 9 * * *", "America/Edmonton", "2026-11-22T00:00:00Z", {}, "2026f");
    told.since("2025b", "2026-11-22T14:30:00Z").at("2026-11-22T14:30:00Z").at("2026-11-22T16:00:00Z");
    assert.deepEqual([told.fired, told.next], [["2026-11-22T16:00"], "2026-11-23T16:00"]);
  });

  it("fires once over an update and its rollback, wherever they fall", () => {
    for (let minute = 0; minute < 60 * 4; minute += 7) {
      for (const gap of [1, 20, 61, 90]) {
        const begin = Date.parse("2026-11-22T13:30:00Z") + minute * MINUTE;
        const told = new Told("0 9 * * *", "America/Edmonton", "2026-11-22T00:00:00Z");
        told.since("2026f", new Date(begin).toISOString());
        told.since("2025b", new Date(begin + gap * MINUTE).toISOString());
        told.through("2026-11-22T13:00:00Z", "2026-11-22T20:00:00Z");
        assert.equal(told.fired.length + told.skipped.length, 1, `${iso(begin)} and ${gap} minutes: ${told.fired}`);
        assert.equal(told.next, "2026-11-23T16:00");
      }
    }
  });
});

describe("several changeovers", () => {
  for (const [first, second] of [
    ["2026f", "2025b"],
    ["2025b", "2026f"],
  ] as const)
    it(`lose no minute of a job by the clock where ${second} is taken back before its first fire`, () => {
      const told = new Told("0-59 0-23 * * *", "America/Edmonton", "2026-11-22T18:00:30Z", {}, first);
      told.since(second, "2026-11-22T18:10:20Z").since(first, "2026-11-22T18:10:50Z");
      told.through("2026-11-22T18:01:00Z", "2026-11-22T18:20:00Z");
      const minutes = Array.from({ length: 20 }, (_, i) => `2026-11-22T18:${String(i + 1).padStart(2, "0")}`);
      assert.deepEqual(told.fired, minutes);
      const schedule = scheduleOf(told.rule, JOB, CREATED);
      const [since, until] = ["2026-11-22T18:00:30Z", "2026-11-22T18:20:01Z"].map(Date.parse) as [number, number];
      const expected = plannedInstants(schedule, told.changeovers, since, until, 100);
      assert.deepEqual(expected.instants.map(iso), minutes, "and the ledger expects no others");
    });

  it("fire nothing twice where the rules of before are back before anything was due", () => {
    const told = new Told("0-59 8-10 * * *", "America/Edmonton", "2026-11-21T16:57:30Z");
    told.since("2026f", "2026-11-21T17:00:20Z").since("2025b", "2026-11-21T17:00:40Z");
    told.through("2026-11-21T16:58:00Z", "2026-11-21T17:03:00Z");
    const minutes = ["16:58", "16:59", "17:00", "17:01", "17:02", "17:03"].map((time) => `2026-11-21T${time}`);
    assert.deepEqual(told.fired, minutes);
  });

  it("remember over rules that changed nothing which rules have planned an instant", () => {
    const told = new Told("45,56 8,9 * * *", "America/Edmonton", "2026-11-21T15:50:00Z");
    told.since("2026f", "2026-11-21T15:51:00Z").since("2026f", "2026-11-21T15:52:00Z");
    told.since("2025b", "2026-11-21T15:53:00Z").through("2026-11-21T15:50:00Z", "2026-11-21T16:50:00Z");
    assert.deepEqual(told.fired, ["2026-11-21T15:56", "2026-11-21T16:45"]);
  });

  it("leave out neither pass of a time that the newer rules have twice", () => {
    const packaged = packagedZones();
    const zones = { ...packaged.zones, "America/St_Johns": packaged.zones["America/Halifax"] ?? "" };
    keepZoneData(new ZoneData(zoneFilesOf({ ...packaged, version: "2027a", zones })));
    const times = { cron: "14,32 1 * * *", timezone: "America/St_Johns", dst: { gap: "SHIFT", fold: "BOTH" } } as const;
    const rule = { times: { type: "CRON", ...times } } as const;
    const told = new Told(times.cron, times.timezone, "2018-11-04T03:40:00Z", rule, "2026f");
    told.since("2027a", "2018-11-04T03:50:00Z").through("2018-11-04T03:40:00Z", "2018-11-04T06:00:00Z");
    assert.deepEqual(
      told.fired.map((at) => at.slice(11)),
      ["03:44", "04:32", "05:14", "05:32"],
    );
  });

  it("let the ledger expect nothing again that an earlier version had planned, where a version follows itself", () => {
    const told = new Told("0 9 * * *", "America/Edmonton", "2026-11-21T12:00:00Z");
    told.since("2026f", "2026-11-21T15:01:00Z").since("2025b", "2026-11-22T15:01:00Z");
    told.since("2025b", "2026-11-22T15:11:00Z").through("2026-11-22T14:59:00Z", "2026-11-22T16:10:00Z");
    const schedule = scheduleOf(told.rule, JOB, CREATED);
    const [since, until] = ["2026-11-21T12:00:00Z", "2026-11-22T20:00:00Z"].map(Date.parse) as [number, number];
    const { instants } = plannedInstants(schedule, told.changeovers, since, until, 100);
    assert.deepEqual(instants.map(iso), ["2026-11-21T15:00", "2026-11-22T15:00"]);
    assert.deepEqual([told.fired, told.skipped], [["2026-11-21T15:00", "2026-11-22T15:00"], []]);
  });

  it("leave a ledger that expects what the plan has accounted for, whatever the job and the moments", () => {
    const crons = ["0 9 * * *", "0-59 8-10 * * *", "*/30 * * * *", "15 1,9,17 * * *", "0 9 22 * *", "0 */2 * * *"];
    const zones = ["America/Edmonton", "America/Winnipeg", "America/Vancouver"];
    const instant = fc.integer({ min: 0, max: 30 * 60 }).map((minutes) => FROM + minutes * MINUTE);
    const changes = fc.array(fc.tuple(fc.constantFrom("2025b", "2026c", "2026f"), instant), { maxLength: 5 });
    fc.assert(
      fc.property(fc.constantFrom(...crons), fc.constantFrom(...zones), changes, (cron, zone, found) => {
        const told = new Told(cron, zone, new Date(FROM).toISOString(), { misfire: "FIRE_ALL", maxCatchUp: 1_000 });
        for (const [version, at] of found.sort((a, b) => a[1] - b[1])) told.since(version, new Date(at).toISOString());
        const until = FROM + 48 * 60 * MINUTE;
        for (let at = FROM; at <= until; at += 5 * MINUTE) told.at(new Date(at).toISOString());
        const schedule = scheduleOf(told.rule, JOB, CREATED);
        const { instants } = plannedInstants(schedule, told.changeovers, FROM + 1, until + 1, 5_000);
        assert.deepEqual([...told.fired].sort(), instants.map(iso));
      }),
      { seed: 20_261_122, numRuns: 60 },
    );
  });
});

describe("instants that had passed when the rules changed", () => {
  it("keep the rules that they were planned by", () => {
    const everyDay = { misfire: "FIRE_ALL" } as const;
    const told = new Told("0 9 * * *", "America/Winnipeg", "2026-11-18T00:00:00Z", everyDay, "2026c");
    told.since("2026f", "2026-11-21T12:00:00Z").at("2026-11-22T18:00:00Z").at("2026-11-22T18:01:00Z");
    const expected = [
      "2026-11-18T15:00",
      "2026-11-19T15:00",
      "2026-11-20T15:00",
      "2026-11-21T14:00",
      "2026-11-22T14:00",
    ];
    assert.deepEqual(told.fired.sort(), expected);
  });

  it("wait for the end of a pause as they were planned", () => {
    const told = new Told("0 9 * * *", "America/Winnipeg", "2026-11-21T00:00:00Z", {}, "2026c");
    told.plan = { ...told.plan, state: "PAUSED" };
    told.since("2026f", "2026-11-21T16:00:00Z").at("2026-11-21T16:00:00Z");
    assert.equal(told.next, "2026-11-21T15:00");
  });

  const pausedOver = (catchUp: boolean, rule: Partial<RecurrenceRule> = {}) => {
    const told = new Told("30 9,10 * * *", "America/Winnipeg", "2026-11-20T00:00:00Z", rule, "2026c");
    told.order("2026-11-20T12:00:00Z", { kind: "PAUSE", at: Date.parse("2026-11-20T12:00:00Z") });
    told.since("2026f", "2026-11-21T12:00:00Z").at("2026-11-21T12:00:30Z").at("2026-11-21T15:00:00Z");
    const at = Date.parse("2026-11-22T12:00:00Z");
    return told.order("2026-11-22T12:00:00Z", { kind: "RESUME", at, catchUp }).at("2026-11-22T12:00:01Z");
  };

  it("are skipped by the rules of their time when the pause ends", () => {
    const told = pausedOver(false);
    assert.deepEqual(
      told.skipped,
      ["2026-11-20T15:30", "2026-11-20T16:30", "2026-11-21T14:30", "2026-11-21T15:30"].map((at) => `${at} PAUSED`),
    );
    assert.deepEqual([told.fired, told.next], [[], "2026-11-22T14:30"]);
  });

  it("are made up for by the rules of their time when the pause ends", () => {
    const told = pausedOver(true, { misfire: "FIRE_ALL" });
    const expected = ["2026-11-20T15:30", "2026-11-20T16:30", "2026-11-21T14:30", "2026-11-21T15:30"];
    assert.deepEqual([told.fired, told.skipped, told.next], [expected, [], "2026-11-22T14:30"]);
  });

  it("count once where the update comes while the job is paused, and has the same time on the wall later", () => {
    const told = new Told("0 9 * * *", "America/Edmonton", "2026-11-22T00:00:00Z", {}, "2026f");
    told.order("2026-11-22T14:00:00Z", { kind: "PAUSE", at: Date.parse("2026-11-22T14:00:00Z") });
    told.since("2025b", "2026-11-22T15:30:00Z").at("2026-11-22T15:31:00Z");
    const at = Date.parse("2026-11-22T15:45:00Z");
    told.order("2026-11-22T15:45:00Z", { kind: "RESUME", at, catchUp: true }).at("2026-11-22T16:30:00Z");
    assert.deepEqual([told.fired, told.next], [["2026-11-22T15:00"], "2026-11-23T16:00"]);
  });
});
