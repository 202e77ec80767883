import assert from "node:assert/strict";
import { it } from "node:test";
import { ManualRuntime } from "../../test/manual-runtime.ts";
import { FailureLog } from "./failure-log.ts";
import type { FailedAttempt } from "./worker-hooks.ts";

const FAILED: FailedAttempt = {
  executionId: "x",
  attempt: 2,
  handler: "mail",
  failures: 1,
  maxAttempts: 5,
  traceparent: null,
  startedAt: new Date(0),
  outcome: "TIMED_OUT",
  error: { name: "TimedOut", message: "x".repeat(10_000) },
  durationMs: 12.3,
};

it("a worker logs the trace of a failed attempt that is in one", () => {
  const lines: string[] = [];
  const log = new FailureLog(new ManualRuntime(), (line) => lines.push(line));
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  log.add({ ...FAILED, traceparent });
  const ids = "trace_id 4bf92f3577b34da6a3ce929d0e0e4736, span_id 00f067aa0ba902b7";
  assert.ok(lines[0]?.startsWith(`attempt 2 of execution x (handler "mail", ${ids}) timed out`), lines[0]);
});

it("a worker logs twenty failed attempts a minute, counts the rest, and says nothing of cancelled ones", async () => {
  const runtime = new ManualRuntime();
  const lines: string[] = [];
  const log = new FailureLog(runtime, (line) => lines.push(line));
  for (let count = 0; count < 1_000; count++) log.add(FAILED);
  log.add({ ...FAILED, outcome: "CANCELLED" });
  assert.equal(lines.length, 20);
  assert.equal(
    lines[0],
    `attempt 2 of execution x (handler "mail") timed out after 12 ms, failure 2 of at most 5: TimedOut: ${"x".repeat(500)}`,
  );
  await runtime.advance(60_000);
  assert.equal(lines[20], "980 more attempts failed within the last minute");
  log.add(FAILED);
  await runtime.advance(60_000);
  assert.equal(lines.length, 22);
});
