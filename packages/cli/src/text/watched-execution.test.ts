import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ExecutionEvent, ExecutionState, ExecutionSummary } from "@mainspring/sdk";
import { WatchedExecution } from "./watched-execution.ts";

const AT = "2030-01-31T08:00:00.000Z";
const LATER = "2030-01-31T08:00:01.000Z";

describe("an execution that is watched on a terminal", () => {
  it("has a bar that moves, begins anew with each attempt, and is full when it succeeds", () => {
    const watched = new WatchedExecution("id");
    const bars = [
      state("RUNNING", 1),
      progress(0.5, "half"),
      state("PENDING", 1),
      progress(0.25, ""),
      state("RUNNING", 2),
      state("SUCCEEDED", 2),
    ].map((event) => {
      watched.say(event, true);
      return watched.line();
    });
    assert.deepEqual(bars, [
      "id  RUNNING    [............]   0 %",
      "id  RUNNING    [######......]  50 %  half",
      "id  PENDING    [............]   0 %",
      // Progress arrives before the state.
      "id  RUNNING    [###.........]  25 %",
      "id  RUNNING    [###.........]  25 %",
      "id  SUCCEEDED  [############] 100 %",
    ]);
  });

  it("shows when a state began, and what an attempt failed by", () => {
    const watched = new WatchedExecution("id");
    assert.equal(watched.say(state("RUNNING", 1), true), `${AT}  RUNNING  attempt 1`);
    const error = { name: "RangeError", message: "no such\ncity" };
    const record = { attempt: 1, workerId: "w1", state: "FAILED", startedAt: AT, finishedAt: LATER, error } as const;
    const line = `${LATER}  attempt 1 FAILED  on w1: RangeError: no such\\ncity`;
    assert.equal(watched.say({ type: "attempt", id: "1", record }, true), line);
  });

  it("needs no line for what its bar shows, and escapes what the terminal would obey", () => {
    const watched = new WatchedExecution("id");
    assert.equal(watched.say(progress(0.5, "half"), true), null);
    assert.equal(
      watched.say(progress(0.5, "a\u001b[2J"), false),
      `${AT}  [############............]  50 %  a\\u001b[2J`,
    );
    const log = { type: "log", id: "1", attempt: 1, at: AT, level: "INFO", line: "b\r" } as const;
    assert.equal(watched.say(log, true), `${AT}  info  b\\r`);
  });
});

function state(state: ExecutionState, attempt: number): ExecutionEvent {
  const execution = { state, attempt, failures: 0, reason: null, assignedWorker: null, updatedAt: LATER };
  return { type: "state", id: "1", at: AT, execution: execution as ExecutionSummary };
}

function progress(fraction: number, message: string): ExecutionEvent {
  return { type: "progress", id: "1", attempt: 1, at: AT, fraction, message };
}
