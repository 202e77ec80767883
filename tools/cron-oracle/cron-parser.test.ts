import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { usePackagedZones } from "@mainspring/server/testing";
import { randomCases } from "./cases.ts";
import { cronParserReason } from "./differences.ts";
import { cronParser, mainspring } from "./implementations.ts";

before(() => void usePackagedZones());

describe("the fires of random schedules", () => {
  it("are those of cron-parser, but for differences that have a reason", () => {
    const cases = randomCases(20_261_122, 400);
    const reasons = cases.map((one) => cronParserReason(one, mainspring(one), cronParser(one)));
    const unexplained = cases.filter((_, index) => reasons[index] === "UNEXPLAINED");
    assert.deepEqual(unexplained, []);
    const equal = reasons.filter((reason) => reason === "equal");
    assert.ok(equal.length > 0.85 * cases.length, `${equal.length} of ${cases.length} are equal`);
  });
});
