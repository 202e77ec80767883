import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { type RunningNode, startNode } from "./node.ts";
import { loadConfig } from "./ops/config.ts";

/** Signals and suspensions at a whole server with the embedded store. */
describe("handlers that wait for signals", () => {
  let folder: string;
  let node: RunningNode;
  let client: Client;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-signals-"));
    const fields = { MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_LOG_LEVEL: "fatal" };
    node = await startNode(loadConfig({ ...fields, MAINSPRING_DATA_DIR: folder }));
    client = new Client({ url: node.httpUrl });
  });
  after(async () => {
    await node.stop();
    await rm(folder, { recursive: true });
  });

  for (const [place, attach] of [
    [
      "over gRPC",
      (options: object) => new Worker({ url: node.grpcAddress, warn: () => undefined, ...options } as never),
    ],
    ["inside the server", (options: object) => node.attachWorker(options as never)],
  ] as const) {
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
      const worker = attach({ pool, slots: 1, tasks: [order] });
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
