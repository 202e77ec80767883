import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import { IndexData } from "../adapters/simulated/sim-index.ts";
import { IndexUnavailable } from "../ports/side-index.ts";
import { BesideStore } from "./beside-store.ts";
import { assignment, executionId, ManualRuntime, NODE, Stage, tokenOf } from "./gateway.fixture.ts";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A gateway with two attempts at a worker, and the index beside its store. */
async function scene() {
  const runtime = new ManualRuntime();
  const stage = new Stage(NODE, runtime);
  stage.own();
  const worker = stage.connect().hello({ slots: 3 });
  stage.assign(assignment(1), assignment(2));
  worker.start(...worker.assigns.slice(0, 1));
  const data = new IndexData(runtime.now);
  const redis = { isAway: false };
  const index = data.index(async (run) => {
    if (redis.isAway) throw new IndexUnavailable("away");
    return run();
  });
  const parts = { node: NODE, gateway: stage.gateway, index, runtime, log: pino({ level: "silent" }) };
  const beside = new BesideStore(parts);
  beside.start();
  await turn();
  const later = async (ms: number) => {
    for (let left = ms; left > 0; left -= 500) {
      runtime.advance(Math.min(left, 500));
      await turn();
    }
  };
  const told = (end = worker) => end.received.flatMap(({ cancels }) => cancels.map(({ token }) => token?.executionId));
  return { runtime, stage, worker, data, redis, index, beside, later, told };
}

describe("a gateway with an index beside the store", () => {
  it("writes the statuses of its workers every ten seconds, and removes them when it stops", async () => {
    const { stage, index, beside, later } = await scene();
    const read = async () => (await index.workers.read(new Set())).flatMap(({ workers }) => workers);
    assert.deepEqual(await read(), stage.gateway.statuses());
    stage.connect().hello({ workerId: "later" });
    assert.equal((await read()).length, 1);
    await later(10_000);
    assert.deepEqual(
      (await read()).map(({ workerId, state, running }) => [workerId, state, running]),
      [
        ["worker-1", "ALIVE", 1],
        ["later", "ALIVE", 0],
      ],
    );
    await beside.stop();
    assert.deepEqual(await index.workers.read(new Set()), []);
    await later(20_000);
    assert.deepEqual(await index.workers.read(new Set()), []);
  });

  it("tells the workers of cancelled attempts to stop once, whether they run or wait, and nobody else", async () => {
    const { runtime, index, later, told } = await scene();
    await later(2_000);
    assert.deepEqual(told(), []);
    for (const n of [1, 2, 99]) await index.cancels.add(executionId(n), runtime.now());
    await later(5_000);
    assert.deepEqual(told().sort(), [executionId(1), executionId(2)]);
  });

  it("tells an attempt that came later, and a worker that has connected anew again", async () => {
    const { runtime, stage, worker, index, later, told } = await scene();
    await index.cancels.add(executionId(3), runtime.now());
    await later(1_000);
    assert.deepEqual(told(), []);
    stage.assign(assignment(3));
    await later(1_000);
    assert.deepEqual(told(), [executionId(3)]);
    worker.breakOff();
    await later(1_000);
    const again = stage.connect().hello({
      ...{ slots: 3, connection: 2 },
      holds: [1, 2, 3].map((n) => ({ token: tokenOf(assignment(n)) })),
    });
    await later(1_000);
    assert.deepEqual(told(again), [executionId(3)]);
  });

  it("leaves the end of a cancelled attempt to its owner: the result is reported, and not acknowledged", async () => {
    const { runtime, stage, worker, index, later } = await scene();
    await index.cancels.add(executionId(1), runtime.now());
    await later(1_000);
    stage.forgetReports();
    worker.finish(...worker.assigns.slice(0, 1));
    const results = stage.reportsOf("FINISHED").flatMap(({ results }) => results);
    assert.deepEqual(
      results.map((result) => result.executionId),
      [executionId(1)],
    );
    await later(2_000);
    assert.deepEqual(
      worker.received.flatMap(({ acks }) => acks),
      [],
    );
  });

  it("leaves out cancellations of a day ago, and goes on when the index is back or has lost everything", async () => {
    const { runtime, data, redis, index, later, told } = await scene();
    await index.cancels.add(executionId(2), runtime.now() - 24 * 3_600_000 - 2_000);
    await later(2_000);
    assert.deepEqual(told(), []);
    redis.isAway = true;
    await later(20_000);
    redis.isAway = false;
    data.flush();
    await index.cancels.add(executionId(1), runtime.now());
    await later(10_000);
    assert.deepEqual(told(), [executionId(1)]);
    assert.equal((await index.workers.read(new Set())).length, 1);
  });
});
