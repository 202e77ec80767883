import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, Stage, stageWithWorker } from "./gateway.fixture.ts";

const FAILED = 2;

function failuresIn({ logged }: Stage): Record<string, unknown>[] {
  const lines = logged.map((line) => JSON.parse(line) as Record<string, unknown>);
  return lines.filter(({ msg }) => /attempt/.test(String(msg)) && !/worker connected/.test(String(msg)));
}

describe("an attempt that fails at its worker", () => {
  it("is in the gateway's log with its error, once, however often the worker says so", () => {
    const { stage, worker } = stageWithWorker();
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    stage.assign({ ...assignment(1), traceparent }, assignment(2));
    const [first, second] = worker.assigns;
    const finished = {
      token: first?.token ?? {},
      outcome: FAILED,
      error: { name: "RangeError", message: "no such city" },
    };
    worker.say({ finished: [finished] });
    worker.say({ finished: [finished] });
    worker.say({ finished: [{ token: second?.token ?? {}, outcome: 1 }] });
    const [line, ...others] = failuresIn(stage);
    assert.deepEqual(others, []);
    const { executionId, attempt } = first?.token ?? {};
    const { workerId, handler, state, error, message } = line ?? {};
    assert.deepEqual([line?.executionId, line?.attempt, workerId], [executionId, attempt, "worker-1"]);
    assert.deepEqual([handler, state, error, message], ["echo", "FAILED", "RangeError", "no such city"]);
    assert.deepEqual([line?.trace_id, line?.span_id], traceparent.split("-").slice(1, 3));
    assert.equal(first?.traceparent, traceparent);
  });

  it("is one of at most twenty a minute that are logged; the number of the others is told later", () => {
    const stage = new Stage();
    stage.own();
    const worker = stage.connect().hello({ slots: 100 });
    const fail = (from: number, count: number) => {
      stage.assign(...Array.from({ length: count }, (_, index) => assignment(from + index)));
      const tokens = worker.assigns.slice(-count).map(({ token }) => token ?? {});
      worker.say({
        finished: tokens.map((token) => ({ token, outcome: FAILED, error: { name: "Error", message: "no" } })),
      });
    };
    fail(1, 50);
    assert.equal(failuresIn(stage).length, 20);
    for (let seconds = 0; seconds < 60; seconds += 10) {
      worker.heartbeat();
      stage.runtime.advance(10_000);
    }
    fail(60, 1);
    const [untold, next] = failuresIn(stage).slice(20);
    assert.deepEqual([untold?.untold, next?.state], [30, "FAILED"]);
  });
});
