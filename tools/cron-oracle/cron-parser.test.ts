import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { usePackagedZones } from "@mainspring/server/testing";
import { randomCases } from "./cases.ts";
import { cronParserReason } from "./differences.ts";
import { cronParser, mainspring } from "./implementations.ts";
import { NewestZone } from "./newest-zones.ts";

before(() => void usePackagedZones());

describe("the fires of random schedules", () => {
  it("are those of cron-parser, but for differences that have a reason", () => {
    const cases = randomCases(20_261_122, 400);
    const reasons = cases.map((one) => cronParserReason(one, mainspring(one), cronParser(one), false));
    const unexplained = cases.filter((_, index) => reasons[index] === "UNEXPLAINED");
    assert.deepEqual(unexplained, []);
    const equal = reasons.filter((reason) => reason === "equal");
    assert.ok(equal.length > 0.85 * cases.length, `${equal.length} of ${cases.length} are equal`);
  });

  it("are those of cron-parser for rules that the platform does not have yet, where it is given newer data", () => {
    // Winnipeg did not set its clocks back on 1 November 2026.
    const changes: [number, number][] = [
      [Date.UTC(2025, 10, 2, 7) / 1_000, -6 * 3_600],
      [Date.UTC(2026, 2, 8, 8) / 1_000, -5 * 3_600],
    ];
    const zone = new NewestZone("America/Winnipeg", changes);
    const nine = { cron: "0 9 * * *", timezone: "America/Winnipeg", after: "2026-10-30T20:00:00Z" };
    assert.deepEqual(cronParser(nine, zone), ["2026-10-31T14:00:00Z", "2026-11-01T14:00:00Z", "2026-11-02T14:00:00Z"]);
    assert.deepEqual(mainspring(nine), cronParser(nine, zone));
  });
});
