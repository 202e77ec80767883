import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { derivedId } from "../../domain/occurrence-id.ts";
import { candidate, Story } from "../testing/story.ts";

/** Three workers with eight slots each, and so many ready executions. */
function assignedOf(executions: number): string[] {
  const story = new Story();
  for (const workerId of ["w1", "w2", "w3"]) story.worker(workerId, { slots: 8 });
  story.hint(...Array.from({ length: executions }, () => candidate()));
  return story.commit().assigns.map(({ workerId }) => workerId);
}

function runsOf(workers: readonly string[]): number[] {
  const runs: number[] = [];
  for (const [at, worker] of workers.entries()) {
    if (worker === workers[at - 1]) runs.push((runs.pop() ?? 0) + 1);
    else runs.push(1);
  }
  return runs;
}

describe("dispatch", () => {
  it("gives each worker four assignments in turn when more is ready than the workers have credit for", () => {
    const workers = assignedOf(30);
    assert.equal(workers.length, 24);
    assert.deepEqual(runsOf(workers.slice(0, 12)), [4, 4, 4]);
  });

  it("gives one assignment at a time when the credit suffices for all, so that every worker gets its share", () => {
    const workers = assignedOf(6);
    assert.deepEqual(runsOf(workers), [1, 1, 1, 1, 1, 1]);
    for (const id of ["w1", "w2", "w3"]) assert.equal(workers.filter((worker) => worker === id).length, 2);
  });

  it("gives an execution that may be older than a loss of the store an attempt beyond the lost ones, and a newer one its first", () => {
    const story = new Story().worker("w1", { slots: 8 });
    const recovered = { inFlight: [], journals: [], commands: [], lostAttempts: { until: 999, last: 100_000 } };
    story.tell({ kind: "OWNED", term: 2, epochs: new Map(), recovered, incarnation: "node-1" });
    const ids = [derivedId("a", "b", 999), derivedId("a", "b", 1_000)];
    story.hint(...ids.map((id, attempt) => candidate({ id, attempt: 1 - attempt })));
    const given = story.commit().assigns.map(({ executionId, attempt }) => [executionId, attempt]);
    assert.deepEqual(new Map(given as [string, number][]), new Map(ids.map((id, i) => [id, [100_001, 1][i]])));
  });

  it("ends a turn at the last slot of a worker", () => {
    const story = new Story().worker("w1", { slots: 2 }).worker("w2", { slots: 2 });
    story.hint(...Array.from({ length: 9 }, () => candidate()));
    const workers = story.commit().assigns.map(({ workerId }) => workerId);
    assert.deepEqual(runsOf(workers), [2, 2]);
  });
});
