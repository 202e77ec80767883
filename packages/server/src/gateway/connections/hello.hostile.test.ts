import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, held, Stage, stageWithWorker, tokenOf, type WorkerEnd } from "../gateway.fixture.ts";
import { HOLDS_MAX, HOLDS_PER_EXECUTION_MAX } from "../limits.ts";

const finished = (count: number) => Array.from({ length: count }, (_, n) => ({ ...held(n, n % 64), finished: true }));
const attempts = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ token: { ...tokenOf(assignment(1)), attempt: n + 1 }, finished: true }));

function refusal(worker: WorkerEnd): string {
  return `${worker.closedWith?.code}: ${worker.closedWith?.detail}`;
}

describe("the holds of a hello", () => {
  it("are refused where they are more than a hello may list", () => {
    const worker = new Stage().connect().hello({ holds: finished(HOLDS_MAX + 1) });
    assert.match(refusal(worker), /^RESOURCE_EXHAUSTED: holds: 12001 attempts; at most 12000/);
  });

  it("are taken up to that, all of them", () => {
    const stage = new Stage();
    stage.own();
    assert.equal(stage.connect().hello({ holds: finished(HOLDS_MAX) }).closedWith, null);
    assert.equal(stage.reportsOf("WORKER_UP")[0]?.holds.length, HOLDS_MAX);
  });

  it("are refused where many are of one execution, whose attempts are searched one after the other", () => {
    const stage = new Stage();
    assert.match(
      refusal(stage.connect().hello({ holds: attempts(HOLDS_MAX) })),
      /^INVALID_ARGUMENT: holds: more than 1000/,
    );
    assert.equal(stage.connect().hello({ holds: attempts(HOLDS_PER_EXECUTION_MAX) }).closedWith, null);
    const nobodys = Array.from({ length: 100 }, () => ({}));
    assert.match(refusal(stage.connect().hello({ holds: nobodys })), /^INVALID_ARGUMENT/);
  });
});

describe("a worker with results that nobody acknowledges, as in an outage of the store", () => {
  it("is allocated nothing beyond what its next hello can list", () => {
    const stage = new Stage();
    stage.own();
    const worker = stage.connect().hello({ slots: 5_000, prefetch: 100_000 });
    let sent = 0;
    while (sent <= HOLDS_MAX) {
      const granted =
        stage
          .reportsOf("CREDITS")
          .flatMap(({ credits }) => credits)
          .at(-1)?.granted ?? sent;
      if (granted === sent) break;
      const next = Array.from({ length: granted - sent }, (_, n) => assignment(sent + n + 1));
      sent = granted;
      stage.assign(...next);
      worker.received.forEach(({ assigns }) => worker.finish(...assigns));
      worker.received = [];
    }
    assert.equal(sent, HOLDS_MAX);
    worker.breakOff();
    const again = stage.connect().hello({ slots: 5_000, prefetch: 100_000, holds: finished(HOLDS_MAX + 1).slice(1) });
    assert.equal(again.closedWith, null);
  });

  it("is allocated all it can hold otherwise", () => {
    const { stage } = stageWithWorker();
    assert.equal(stage.reportsOf("CREDITS").at(-1)?.credits[0]?.granted, 3);
  });
});
