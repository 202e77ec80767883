import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, task } from "@mainspring/sdk";
import { startTestNode, type TestNode, WORKERS } from "./node.fixture.ts";

const ONCE_MORE = { retryPolicy: { backoff: "FIXED", initialDelayMs: 0, jitter: false } } as const;

/** Durable steps at a whole server with the embedded store. */
describe("the steps of a handler", () => {
  let node: TestNode;
  let client: Client;
  before(async () => {
    node = await startTestNode();
    client = node.client;
  });
  after(() => node.stop());

  for (const [place, workerOf] of Object.entries(WORKERS)) {
    it(`run once, and every later attempt gets their values, with a worker ${place}`, async () => {
      const pool = place.replaceAll(" ", "-");
      const runs: string[] = [];
      const seen: unknown[] = [];
      const pay = task({
        name: "pay",
        run: async (_: null, ctx) => {
          const step = (name: string, value: unknown) =>
            ctx.step.run(name, () => {
              runs.push(`${ctx.attempt}:${name}`);
              return value;
            });
          seen.push(ctx.checkpoint.last);
          const order = await step("reserve", { order: 7, at: new Date(0) });
          await ctx.checkpoint({ attempt: ctx.attempt });
          if (ctx.attempt === 1) throw new Error("the card machine is away");
          const paid = await step("charge", ctx.step.key("charge"));
          if (ctx.attempt === 2) throw new Error("the mail server is away");
          return [order, paid, await step("mail", undefined)];
        },
      });
      const worker = workerOf(node, { pool, slots: 2, tasks: [pay] });
      await worker.start();
      const { executionId } = await client.submit({ target: { handler: "pay", pool }, payload: null, ...ONCE_MORE });
      const execution = await client.getExecution(executionId, { waitSec: 30 });
      assert.equal(execution.state, "SUCCEEDED", JSON.stringify(execution.error));
      assert.deepEqual(runs, ["1:reserve", "2:charge", "3:mail"]);
      assert.deepEqual(seen, [undefined, { attempt: 1 }, { attempt: 2 }]);
      const order = { order: 7, at: "1970-01-01T00:00:00.000Z" };
      assert.deepEqual(execution.result, [order, `${executionId}/charge`, null]);
      assert.deepEqual(
        execution.steps.map(({ name, attempt }) => [name, attempt]),
        [
          ["reserve", 1],
          ["charge", 2],
          ["mail", 3],
        ],
      );
      assert.deepEqual([execution.checkpoint?.data, execution.checkpoint?.attempt], [{ attempt: 3 }, 3]);
      const { steps } = await client.getExecutionSteps(executionId);
      assert.deepEqual(steps[0]?.value, order);
      await worker.stop();
    });
  }
});
