import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import { settled } from "../../ports/manual-runtime.fixture.ts";
import type { LogPart } from "../../ports/store-logs.ts";
import { assignment, executionId, ManualRuntime, NODE, Stage, tokenOf, type WorkerEnd } from "../gateway.fixture.ts";
import { BROKEN_MAX_MS } from "../limits.ts";
import { LogKeeper } from "./log-keeper.ts";

async function scene() {
  const runtime = new ManualRuntime();
  const kept = new Map<string, LogPart>();
  const keep = async (parts: readonly LogPart[]) => {
    for (const part of parts) kept.set(`${part.executionId} ${part.attempt} ${part.part}`, part);
  };
  const logs = new LogKeeper({
    store: { logs: { keep, read: async () => [] } },
    ...{ runtime, log: pino({ level: "silent" }) },
  });
  const stage = new Stage(NODE, runtime, undefined, undefined, logs);
  stage.own();
  const worker = stage.connect().hello();
  stage.assign(assignment(1), assignment(2));
  const after = async (ms: number) => {
    // The next round of writes is planned when the promise of the one before has settled.
    for (let left = ms; left >= 0; left -= 250) {
      runtime.advance(Math.min(left, 250));
      await settled();
    }
  };
  /** Texts of all kept lines of an execution. */
  const lines = (n: number) =>
    [...kept.values()]
      .filter((part) => part.executionId === executionId(n))
      .sort((a, b) => a.part - b.part)
      .flatMap((part) => part.lines.map(({ line }) => line));
  return { stage, worker, logs, after, lines, kept };
}

const say = (worker: WorkerEnd, n: number, line: string) =>
  worker.say({ logs: [{ token: tokenOf(assignment(n)), level: "warn", line }] });
const asked = (stage: Stage, n: number, attempt = 1) => {
  stage.bus.sent = [];
  stage.bus.deliver("node-api", [{ kind: "ASK_LOGS", request: "r", executionId: executionId(n), attempt }]);
  const [answer] = stage.answers();
  return answer?.kind === "LOGS" ? answer.part : undefined;
};

describe("log lines at a gateway", () => {
  it("are kept when their attempt ends, with those that come in one message with its result", async () => {
    const { stage, worker, after, lines, kept } = await scene();
    say(worker, 1, "a");
    worker.say({
      logs: [{ token: tokenOf(assignment(1)), level: "warn", line: "b" }],
      finished: [{ token: tokenOf(assignment(1)), outcome: 1 }],
    });
    assert.deepEqual(
      asked(stage, 1)?.lines.map(({ line }) => line),
      ["a", "b"],
    );
    assert.deepEqual([asked(stage, 1, 2), asked(stage, 2)], [null, null]);
    await after(1_250);
    assert.deepEqual(lines(1), ["a", "b"]);
    const [part] = kept.values();
    assert.deepEqual([part?.attempt, part?.received, part?.lines[0]?.level], [1, 2, "warn"]);
    assert.equal(asked(stage, 1), null);
  });

  it("are kept when their worker is lost", async () => {
    const { worker, after, lines } = await scene();
    say(worker, 1, "a");
    await after(5_250);
    say(worker, 1, "the last words");
    worker.breakOff();
    await after(BROKEN_MAX_MS + 1_500);
    assert.deepEqual(lines(1), ["a", "the last words"]);
  });

  it("are written within a second when another process takes the id of their worker", async () => {
    const { stage, worker, after, lines } = await scene();
    worker.say({ started: [{ token: tokenOf(assignment(1)), startedAtMs: 1n }] });
    say(worker, 1, "a");
    stage.connect().hello();
    await after(1_000);
    assert.deepEqual(lines(1), ["a"]);
  });

  it("are forgotten by the gateway once the store has them and their worker does not have the attempt any more", async () => {
    const { stage, worker, logs, after, lines } = await scene();
    say(worker, 1, "a");
    say(worker, 2, "b");
    await after(6_250);
    assert.deepEqual([lines(1), lines(2)], [["a"], ["b"]]);
    stage.bus.deliver(NODE, [{ kind: "REFUSED", workerId: "worker-1", tokens: [assignment(1)] }]);
    worker.say({ ended: [tokenOf(assignment(1))] });
    await after(1_250);
    assert.deepEqual([logs.partOf(executionId(1), 1), logs.partOf(executionId(2), 1)?.received], [null, 1]);
  });

  it("are kept of an attempt that is not current any more, under its own number, and not of one that the worker does not hold", async () => {
    const { stage, worker, after, lines, kept } = await scene();
    stage.assign(assignment(1, { attempt: 2, credit: 3 }));
    say(worker, 1, "from the first attempt");
    say(worker, 9, "from nowhere");
    await after(6_250);
    assert.deepEqual([lines(1), lines(9)], [["from the first attempt"], []]);
    assert.deepEqual(
      [...kept.values()].map(({ attempt }) => attempt),
      [1],
    );
  });

  it("are written at once when the gateway drains", async () => {
    const { stage, worker, after, lines } = await scene();
    say(worker, 1, "a");
    stage.gateway.drain(true);
    await after(0);
    assert.deepEqual(lines(1), ["a"]);
  });
});
