import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { outcomeOf } from "../measured.ts";
import { occasionsOf } from "./occasions.ts";

const early = { at: "2026-01-01T10:00:59.000Z", commit: "a", load: 0.25, othersPercent: 3.4, runs: [{}], failures: [] };
const late = { ...early, at: "2026-01-02T10:00:00.000Z", commit: "b", othersPercent: null };

describe("what the report says of when a case was measured", () => {
  it("is one line where all took turns", () => {
    const outcomes = [outcomeOf("mainspring", [early]), outcomeOf("graphile", [early])];
    const text = "Measured once, at 2026-01-01 10:00 UTC of a: load average before 0.3, others took 3 % of the CPU.";
    assert.equal(occasionsOf(outcomes), text);
  });

  it("names the contenders that were measured at other times, or of other commits", () => {
    const outcomes = [outcomeOf("mainspring", [late]), outcomeOf("graphile", [early]), outcomeOf("pg-boss-2", [early])];
    assert.deepEqual(occasionsOf(outcomes).split("\n"), [
      "Contenders were measured at several times:",
      "",
      "- Mainspring: once, at 2026-01-02 10:00 UTC of b: load average before 0.3",
      "- Graphile Worker; pg-boss ×2: once, at 2026-01-01 10:00 UTC of a: load average before 0.3, others took 3 % of the CPU",
    ]);
  });

  it("leaves out a contender that cannot run the case", () => {
    const outcomes = [outcomeOf("mainspring", [late]), { ...outcomeOf("graphile", []), unsupported: "none" }];
    assert.equal(occasionsOf(outcomes), "Measured once, at 2026-01-02 10:00 UTC of b: load average before 0.3.");
  });

  it("counts what failed for nothing", () => {
    const failed = { ...early, runs: [], failures: ["a job was lost"] };
    assert.match(
      occasionsOf([outcomeOf("mainspring", [failed]), outcomeOf("graphile", [failed])]),
      /^Measured 0 times, at/,
    );
  });
});
