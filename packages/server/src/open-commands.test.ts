import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, task, Worker } from "@mainspring/sdk";
import { until } from "./adapters/system/until.fixture.ts";
import { startTestNode, type TestNode } from "./node.fixture.ts";

/** More than the scheduler reads from the inbox at a time. */
const CANCELS = 1_050;
const AT_ONCE = 50;

/** The whole of it: HTTP, the real embedded store, the owner, a worker. */
describe("commands of a node with thousands of open ones", () => {
  let node: TestNode;
  let client: Client;
  before(async () => {
    node = await startTestNode();
    client = node.client;
  });
  after(() => node.stop());

  /** An answer may come before the owner has applied. */
  async function stateIs(jobId: string, state: string): Promise<void> {
    await until(async () => (await client.getJob(jobId)).state === state);
  }

  it("are applied: a recurring job is paused, edited and resumed", async () => {
    const end = Promise.withResolvers<void>();
    const began = Promise.withResolvers<void>();
    const deaf = task({ name: "deaf", run: () => (began.resolve(), end.promise) });
    const worker = new Worker({ url: node.grpcAddress, tasks: [deaf] });
    await worker.start();
    const definition = { target: { handler: "echo" }, everySec: 1, payload: 1 };
    const { jobId } = await client.jobs.upsert("ticks", definition);
    const { executionId } = await client.submit({ target: { handler: "deaf" }, timeoutSec: 900, cancelGraceSec: 300 });
    await began.promise;
    for (let i = 0; i < CANCELS; i += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, () => client.cancelExecution(executionId)));

    await client.jobs.pause(jobId);
    await stateIs(jobId, "PAUSED");
    const edited = await client.jobs.upsert("ticks", { ...definition, payload: 2 });
    assert.equal(edited.version, 2);
    await client.jobs.resume(jobId);
    await stateIs(jobId, "ACTIVE");
    const triggered = await client.getExecution(await client.jobs.trigger(jobId), { waitSec: 30 });
    assert.equal(triggered.result, 2);

    end.resolve();
    const cancelled = await client.getExecution(executionId, { waitSec: 30 });
    assert.ok(["SUCCEEDED", "CANCELLED"].includes(cancelled.state), cancelled.state);
    await worker.stop();
  });
});
