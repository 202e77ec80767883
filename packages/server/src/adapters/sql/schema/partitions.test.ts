import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { uuidSource } from "../../system/system-runtime.ts";
import { monthNamed, monthOf, monthsAround, uuidFloor } from "./partitions.ts";

const instant = fc.integer({ min: 0, max: Date.UTC(2300, 0) });

it("puts every id between the borders of its own month", () => {
  fc.assert(
    fc.property(instant, (at) => {
      const month = monthOf(at);
      const id = uuidSource(() => at)();
      assert.ok(uuidFloor(month.startMs) <= id && id < uuidFloor(month.endMs));
      assert.ok(uuidFloor(at) <= id && id < uuidFloor(at + 1));
    }),
    { examples: [[0]] },
  );
});

it("leaves no gap between one month and the next", () => {
  fc.assert(
    fc.property(instant, (at) => {
      const months = monthsAround(at);
      assert.equal(months.length, 4);
      for (const [i, month] of months.slice(1).entries()) assert.equal(months[i]?.endMs, month.startMs);
      assert.deepEqual(months[1], monthOf(at));
    }),
  );
});

it("knows a month by the name of its partition, and nothing else by it", () => {
  const month = monthOf(Date.UTC(2026, 11, 31, 23, 59, 59, 999));
  assert.equal(month.name, "2026_12");
  assert.deepEqual(monthNamed("jobs", "jobs_2026_12"), month);
  assert.equal(monthNamed("jobs", "executions_2026_12"), null);
  assert.equal(monthNamed("jobs", "jobs_old"), null);
});
