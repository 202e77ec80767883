import assert from "node:assert/strict";
import { it } from "node:test";
import { type RecordedStep, replaces, suspensionOf, waitData, waitOf } from "./step.ts";

it("writes a wait as JSON in ASCII, and reads it back", () => {
  const wait = { until: 1_767_225_600_000, signals: ["approved ä \u{1f600}", 'a "quoted" \\ one'] };
  const data = waitData(wait);
  assert.deepEqual(JSON.parse(Buffer.from(data).toString("ascii")), wait);
  assert.ok(data.every((byte) => byte < 0x80));
  assert.deepEqual(waitOf({ data }), wait);
});

it("ends with the first of several waits, and awaits signals where any wait does", () => {
  const sleep = { until: 20, signals: [] };
  const wait = { until: 30, signals: ["approved"] };
  assert.deepEqual(suspensionOf([sleep], 10), { until: 20, awaitsSignal: false });
  assert.deepEqual(suspensionOf([wait, sleep], 10), { until: 20, awaitsSignal: true });
  assert.deepEqual(suspensionOf([], 10), { until: 10, awaitsSignal: false });
});

it("replaces a wait by the result of its step, and by nothing else", () => {
  const record = (kind: RecordedStep["kind"], attempt: number) => ({
    name: "a",
    kind,
    attempt,
    number: 1,
    at: 1,
    data: null,
  });
  assert.equal(replaces(record("RESULT", 1), record("WAIT", 2)), true);
  assert.equal(replaces(record("WAIT", 2), record("WAIT", 1)), false);
  assert.equal(replaces(record("WAIT", 2), record("RESULT", 1)), false);
  assert.equal(replaces(record("RESULT", 2), record("RESULT", 1)), false);
});
