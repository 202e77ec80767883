import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, task } from "@mainspring/sdk";
import { startTestNode, type TestNode, WORKERS } from "./node.fixture.ts";

/** Signals and suspensions at a whole server with the embedded store. */
describe("handlers that wait for signals", () => {
  let node: TestNode;
  let client: Client;
  before(async () => {
    node = await startTestNode();
    client = node.client;
  });
  after(() => node.stop());

  for (const [place, workerOf] of Object.entries(WORKERS)) {
    it(`leave their slot to others, and go on once with each signal, with a worker ${place}`, async () => {
      const pool = place.replaceAll(" ", "-");
      const asked: string[] = [];
      let left = 0;
      let allWait = () => undefined as void;
      const waiting = new Promise<void>((resolve) => (allWait = resolve));
      const order = task({
        name: "order",
        run: async (_: null, ctx) => {
          await ctx.step.run("ask", () => void asked.push(ctx.executionId));
          ctx.signal.addEventListener("abort", () => {
            left++;
            if (left === 3) allWait();
          });
          const first = await ctx.step.waitForSignal<number>("approved");
          const second = await ctx.step.waitForSignal(["approved", "rejected"], { name: "again" });
          return [first?.data, second?.name, ctx.attempt, ctx.failures];
        },
      });
      const worker = workerOf(node, { pool, slots: 1, tasks: [order] });
      await worker.start();
      const target = { handler: "order", pool };
      const ids: string[] = [];
      for (let n = 0; n < 3; n++) ids.push((await client.submit({ target, payload: null })).executionId as string);
      await waiting;
      for (const id of ids) {
        await client.signalExecution(id, "approved", 7, { id: "first" });
        await client.signalExecution(id, "approved", 7, { id: "first" });
        await client.signalExecution(id, "rejected");
      }
      for (const id of ids) {
        const execution = await client.getExecution(id, { waitSec: 30 });
        assert.equal(execution.state, "SUCCEEDED", JSON.stringify(execution));
        const [first, second, attempt, failures] = execution.result as unknown[];
        assert.deepEqual([first, second, failures], [7, "rejected", 0]);
        assert.deepEqual([execution.attempt, execution.failures, execution.lost], [attempt, 0, 0]);
        assert.ok(execution.attempts.slice(0, -1).every(({ state }) => state === "SUSPENDED"));
        const { steps, waits, signals } = await client.getExecutionSteps(id);
        assert.deepEqual([steps.map(({ name }) => name), waits, signals], [["ask", "approved", "again"], [], []]);
      }
      assert.deepEqual(asked.sort(), ids.sort());
      await worker.stop();
    });
  }
});
