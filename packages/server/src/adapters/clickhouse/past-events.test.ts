import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventId } from "../../domain/lifecycle-event.ts";
import { needsDetail, type PastDetail, type PastExecution, pastEvents } from "./past-events.ts";

const AT = "2026-03-10T08:00:0";
const SUCCEEDED: PastExecution = {
  ...{
    executionId: "e",
    jobId: "j",
    tenant: "default",
    pool: "default",
    handler: "echo",
    trigger: "API",
    jobVersion: 1,
  },
  ...{ state: "SUCCEEDED", reason: null, attempt: 1, failures: 0, lost: 0, assignedWorker: "w1" },
  ...{ createdAt: `${AT}0Z`, scheduledAt: `${AT}1Z`, startedAt: `${AT}2Z`, finishedAt: `${AT}3Z` },
};
const ms = (second: number) => Date.parse(`${AT}${second}Z`);

const told = (past: PastExecution, detail: PastDetail | null = null) =>
  pastEvents(past, detail).map((event) => [
    eventId(event),
    event.at,
    event.state,
    event.reason,
    event.failures,
    event.lost,
  ]);

describe("events of a past execution", () => {
  it("are told by the summary, if its only attempt succeeded", () => {
    assert.equal(needsDetail(SUCCEEDED), false);
    const events = pastEvents(SUCCEEDED, null);
    assert.deepEqual(
      events.map((event) => [eventId(event), event.at, event.startedAt, event.finishedAt, event.workerId]),
      [
        ["e/0/JobCreated", ms(0), null, null, null],
        ["e/1/JobStarted", ms(2), ms(2), null, "w1"],
        ["e/1/JobCompleted", ms(3), ms(2), ms(3), "w1"],
      ],
    );
    assert.deepEqual([events[0]?.trigger, events[0]?.createdAt, events[0]?.scheduledAt], ["API", ms(0), ms(1)]);
  });

  it("have each attempt that counts against a budget", () => {
    const dead: PastExecution = { ...SUCCEEDED, state: "DEAD", reason: "ATTEMPTS", attempt: 3, failures: 1, lost: 1 };
    assert.equal(needsDetail(dead), true);
    const attempt = (number: number, state: PastDetail["attempts"][number]["state"], name: string | null) => ({
      ...{ attempt: number, workerId: `w${number}`, state, error: name === null ? null : { name } },
      ...{ startedAt: `${AT}${number * 2}Z`, finishedAt: `${AT}${number * 2 + 1}Z` },
    });
    const attempts = [attempt(1, "WORKER_LOST", null), attempt(2, "RELEASED", null), attempt(3, "FAILED", "Oops")];
    assert.deepEqual(told(dead, { attempts, error: { name: "Oops" } }), [
      ["e/0/JobCreated", ms(0), "PENDING", null, 0, 0],
      ["e/1/JobStarted", ms(2), "RUNNING", null, 0, 0],
      ["e/1/JobFailed", ms(3), "PENDING", "WORKER_LOST", 0, 1],
      ["e/2/JobStarted", ms(4), "RUNNING", null, 0, 1],
      ["e/3/JobStarted", ms(6), "RUNNING", null, 0, 1],
      ["e/3/JobFailed", ms(7), "DEAD", "FAILED", 1, 1],
      ["e/3/JobDeadLettered", ms(7), "DEAD", "ATTEMPTS", 1, 1],
    ]);
    assert.equal(pastEvents(dead, { attempts, error: { name: "Oops" } }).at(-1)?.errorName, "Oops");
  });

  it("have each attempt that was suspended", () => {
    const attempts = (["SUSPENDED", "SUCCEEDED"] as const).map((state, i) => ({
      ...{ attempt: i + 1, workerId: "w1", state, error: null },
      ...{ startedAt: `${AT}${i * 2 + 2}Z`, finishedAt: `${AT}${i * 2 + 3}Z` },
    }));
    assert.deepEqual(told({ ...SUCCEEDED, attempt: 2 }, { attempts, error: null }), [
      ["e/0/JobCreated", ms(0), "PENDING", null, 0, 0],
      ["e/1/JobStarted", ms(2), "RUNNING", null, 0, 0],
      ["e/1/JobSuspended", ms(3), "PENDING", null, 0, 0],
      ["e/2/JobStarted", ms(4), "RUNNING", null, 0, 0],
      ["e/2/JobCompleted", ms(5), "SUCCEEDED", null, 0, 0],
    ]);
  });

  it("have no attempt, if none ran, and name the run of a node", () => {
    const cancelled: PastExecution = { ...SUCCEEDED, state: "CANCELLED", attempt: 0, startedAt: null, trigger: "NODE" };
    assert.equal(needsDetail(cancelled), false);
    assert.deepEqual(told(cancelled), [
      ["e/0/JobCreated", ms(0), "PENDING", null, 0, 0],
      ["e/0/JobCancelled", ms(3), "CANCELLED", null, 0, 0],
    ]);
    const [created] = pastEvents(cancelled, null);
    assert.deepEqual([created?.jobId, created?.workflowId], [null, "j"]);
  });
});
