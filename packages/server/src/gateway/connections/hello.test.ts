import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { held, Stage, stageWithWorker, type WorkerEnd } from "../gateway.fixture.ts";

describe("what a worker may say first", () => {
  const refusals: [string, (worker: WorkerEnd) => void, string, RegExp][] = [
    ["no hello", (worker) => worker.heartbeat(), "INVALID_ARGUMENT", /first message .* must carry hello/],
    [
      "a newer version",
      (w) => w.hello({ protocolVersion: 9 }),
      "FAILED_PRECONDITION",
      /9 is not known.* speaks 1: upg/,
    ],
    ["no version", (w) => w.hello({ protocolVersion: 0 }), "FAILED_PRECONDITION", /0 is not known.*: use a newer SDK/],
    ["no slots", (w) => w.hello({ slots: 0 }), "INVALID_ARGUMENT", /slots: 1 to 10000 are allowed, not 0/],
    ["too much prefetch", (w) => w.hello({ prefetch: 100_001 }), "INVALID_ARGUMENT", /prefetch: 0 to 100000/],
    ["no handlers", (w) => w.hello({ handlers: [] }), "INVALID_ARGUMENT", /handlers: 1 to 1000 are allowed, not 0/],
    ["a nameless handler", (w) => w.hello({ handlers: [""] }), "INVALID_ARGUMENT", /handlers: 1 to 128 characters/],
    ["a long name", (w) => w.hello({ name: "n".repeat(129) }), "INVALID_ARGUMENT", /name: .* not 129/],
    ["a NUL", (w) => w.hello({ workerId: "a\u0000" }), "INVALID_ARGUMENT", /worker_id: control characters/],
    ["no such shard", (w) => w.hello({ holds: [held(1, 64)] }), "INVALID_ARGUMENT", /shard from 0 to 63/],
    ["too many", (w) => w.hello({ holds: [1, 2, 3, 4].map((n) => held(n)) }), "INVALID_ARGUMENT", /4 unfinished/],
  ];
  for (const [what, say, code, detail] of refusals) {
    it(`refuses ${what} and says what would be right`, () => {
      const stage = new Stage();
      stage.own();
      const worker = stage.connect();
      say(worker);
      assert.equal(worker.closedWith?.code, code);
      assert.match(worker.closedWith?.detail ?? "", detail);
      assert.deepEqual(stage.reportsOf("WORKER_UP"), []);
    });
  }

  it("does not count finished attempts against the slots", () => {
    const stage = new Stage();
    const worker = stage.connect().hello({ holds: [1, 2, 3, 4].map((n) => ({ ...held(n), finished: true })) });
    assert.equal(worker.closedWith, null);
  });

  it("refuses a second hello", () => {
    const { worker } = stageWithWorker();
    worker.hello();
    assert.equal(worker.closedWith?.code, "INVALID_ARGUMENT");
  });

  it("closes a connection that says nothing", () => {
    const stage = new Stage();
    const silent = stage.connect();
    stage.runtime.advance(10_000);
    assert.match(silent.closedWith?.detail ?? "", /no hello/);
  });
});
