import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RecurrenceRule } from "@mainspring/server/testing";
import { expectedInstants } from "./changing-rules.ts";

type CronTimes = Extract<RecurrenceRule["times"], { type: "CRON" }>;

const DAY = "2018-11-04T";
const at = (time: string) => Date.parse(`${DAY}${time}Z`);
/** St. John's is half an hour ahead of Halifax; Buenos Aires has the same offset all year. */
const ZONES: Record<string, string> = {
  halifax: "America/Halifax",
  stJohns: "America/St_Johns",
  buenosAires: "America/Argentina/Buenos_Aires",
};

function expected(
  cron: string,
  fold: CronTimes["dst"]["fold"],
  changes: Record<string, string>,
  stretch: string[],
  endAt: number | null = null,
) {
  const times: CronTimes = { type: "CRON", cron, timezone: "America/St_Johns", dst: { gap: "SHIFT", fold } };
  const rule: RecurrenceRule = {
    ...({
      times,
      startAt: null,
      endAt,
      maxFires: null,
      spreadSec: 0,
      overlap: "ALLOW",
      misfire: "SKIP",
    } as const),
    ...{ misfireGraceMs: 0, maxCatchUp: 1, startWithinMs: null },
  };
  const changeovers = Object.entries(changes).map(([time, version], index) => {
    return { number: index + 1, version, since: index === 0 ? 0 : at(time) };
  });
  const rules = { changeovers: () => changeovers, zoneIn: (version: string) => ZONES[version] as string };
  const [from, until] = stretch.map(at) as [number, number];
  const { must, may } = expectedInstants(rule, 0, rules, from, until, false);
  const told = (instants: Iterable<number>) =>
    Array.from(instants, (instant) => new Date(instant).toISOString().slice(11, 16));
  return { must: told(must), may: told(may) };
}

describe("the oracle of changing rules", () => {
  it("demands nothing of a version that comes into force after the job was edited", () => {
    const changes = { first: "halifax", "03:50:54": "buenosAires", "03:53:53": "stJohns" };
    const everyQuarter = ["23,48 1,2 * * *", "BOTH"] as const;
    assert.deepEqual(expected(...everyQuarter, changes, ["03:49:21", "03:53:25"]), { must: [], may: [] });
    assert.deepEqual(expected(...everyQuarter, changes, ["03:49:21", "03:59:00"]).must, ["03:53"]);
  });

  it("demands nothing of a version that comes into force after the job was deleted", () => {
    const changes = { first: "halifax", "03:50:54": "buenosAires", "03:53:53": "stJohns", "03:57:35": "halifax" };
    const everySeven = ["*/7 * * * *", "LAST"] as const;
    assert.deepEqual(expected(...everySeven, changes, ["03:46:43", "03:56:58"]).must, ["03:49", "03:51"]);
    assert.deepEqual(expected(...everySeven, changes, ["03:46:43", "03:57:59"]).must, ["03:49", "03:51", "03:56"]);
  });

  it("demands nothing after a version by which the job has no instant left", () => {
    const changes = { first: "stJohns", "03:53:58": "halifax", "03:57:19": "stJohns" };
    const twice = ["24,35 1 * * *", "FIRST"] as const;
    const stretch = ["03:47:07", "04:11:40"];
    assert.deepEqual(expected(...twice, changes, stretch, at("04:11:40")), { must: [], may: ["03:54", "04:05"] });
    assert.deepEqual(expected(...twice, changes, stretch, at("04:30:00")).must, ["03:54", "04:05"]);
  });
});
