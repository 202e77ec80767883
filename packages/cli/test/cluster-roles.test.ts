import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";

const JOBS = 50;

describe("a cluster whose nodes have a role each", () => {
  let cluster: TestCluster;
  let nodes: Record<"api" | "scheduler" | "gateway", ClusterNode>;
  before(async () => {
    cluster = await TestCluster.open();
    const roles = ["api", "scheduler", "gateway"] as const;
    const started = roles.map(async (role) => [role, await cluster.node({ MAINSPRING_ROLES: role })]);
    nodes = Object.fromEntries(await Promise.all(started));
  });
  after(() => cluster.close());

  it("runs jobs that come in at one of them at workers of another, under an owner on the third", async (t) => {
    const { api, scheduler, gateway } = nodes;
    // These nodes answer health checks, and accept no jobs.
    for (const { httpUrl } of [scheduler, gateway]) {
      const answers = ["/healthz", "/v1/jobs"].map(async (path) => (await fetch(httpUrl + path)).status);
      assert.deepEqual(await Promise.all(answers), [200, 404]);
    }
    const runs = new Map<string, number>();
    const tick = task({
      name: "tick",
      run: async (n: number, { executionId }) => {
        runs.set(executionId, (runs.get(executionId) ?? 0) + 1);
        return n + 1;
      },
    });
    const worker = new Worker({ tasks: [tick], url: gateway.grpcAddress, pool: "ticks", warn: () => undefined });
    t.after(() => worker.stop());
    await worker.start();
    const client = new Client({ url: api.httpUrl });
    const target = { pool: "ticks", handler: "tick" };
    const jobs = Array.from({ length: JOBS }, (_, n) => ({ target, payload: n }));
    const ids = (await client.submitBatch(jobs)).map((item) => ("executionId" in item ? item.executionId : null));
    const ended = await Promise.all(ids.map((id) => client.getExecution(id as string, { waitSec: 50 })));
    assert.deepEqual(
      ended.map(({ result }) => result),
      jobs.map((_, n) => n + 1),
    );
    assert.deepEqual([runs.size, ...new Set(runs.values())], [JOBS, 1]);
  });

  it("refuses workers where there is no gateway", async () => {
    const nothing = task({ name: "nothing", run: async () => null });
    const worker = new Worker({ tasks: [nothing], url: nodes.api.grpcAddress, warn: () => undefined });
    await assert.rejects(worker.run({ timeoutMs: 60_000 }), /not implement/i);
  });
});
