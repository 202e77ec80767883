import assert from "node:assert/strict";
import { describe, it } from "node:test";
import "../testing/zones.ts";
import { DEFAULT_DST } from "../schedule.ts";
import cases from "../testing/cron-cases.json" with { type: "json" };
import invalid from "../testing/cron-invalid.json" with { type: "json" };
import { cronClock, nextCronFire } from "./cron-fires.ts";
import { readCron } from "./cron-text.ts";

describe("checked cases", () => {
  for (const { name, cron, timezone, after, next, why } of cases) {
    it(`${name}: ${why}`, () => {
      // A case without fires has an expression that never fires.
      if (next.length === 0) return assert.ok("message" in readCron(cron));
      const clock = cronClock({ type: "CRON", cron, timezone, dst: DEFAULT_DST });
      let from = Date.parse(after);
      const fires = next.map(() => {
        from = nextCronFire(clock, from) as number;
        return from;
      });
      assert.deepEqual(
        fires,
        next.map((instant) => Date.parse(instant)),
      );
    });
  }
});

describe("bad expressions", () => {
  for (const text of invalid) {
    it(`refuses ${JSON.stringify(text)}, and says where and what would be right`, () => {
      const refusal = readCron(text);
      assert.ok("message" in refusal);
      assert.equal(refusal.field, "schedule");
      assert.ok(refusal.position !== null && refusal.position >= 1 && refusal.position <= text.length + 1);
      assert.match(refusal.message, /must be |write |give |no entry/);
    });
  }
});
