import assert from "node:assert/strict";
import { it } from "node:test";
import { CountedWarnings } from "./counted-warnings.ts";

it("warnings that repeat are counted: the first of a kind is told at once, the others with the next", () => {
  let nowMs = 0;
  const told: unknown[] = [];
  const log = { warn: (fields: object, message: string) => told.push([message, fields]) };
  const warnings = new CountedWarnings(log, { monotonicMs: () => nowMs });
  for (let i = 0; i < 60_000; i++) warnings.warn({ lane: i }, "a read failed");
  warnings.warn({}, "another kind");
  nowMs = 10_000;
  warnings.warn({ lane: 7 }, "a read failed");
  nowMs = 30_000;
  warnings.warn({ lane: 8 }, "a read failed");
  // The count is compared first, because printing a difference of thousands of lines takes minutes.
  assert.equal(told.length, 4);
  assert.deepEqual(told, [
    ["a read failed", { lane: 0 }],
    ["another kind", {}],
    ["a read failed", { lane: 7, repeated: 59_999 }],
    ["a read failed", { lane: 8 }],
  ]);
});
