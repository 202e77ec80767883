import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";

const JOBS = 120;
const LIMIT = 3;

describe("a cluster with a pool that has a limit", () => {
  let cluster: TestCluster;
  let nodes: ClusterNode[];
  before(async () => {
    cluster = await TestCluster.open();
    nodes = await Promise.all([1, 2].map(() => cluster.node()));
  });
  after(() => cluster.close());

  it("never starts more of it than it allows, also when a node is killed", async (context) => {
    const [first, second] = nodes as [ClusterNode, ClusterNode];
    const client = new Client({ url: first.httpUrl });
    await client.pools.set("narrow", { maxRunning: LIMIT });
    // Owners read pools once a second; the limit applies once all of them have read it.
    await until(async () => (await client.pools.get("narrow")).limitUse);
    let running = 0;
    let most = 0;
    const ask = task({
      name: "ask",
      run: async () => {
        most = Math.max(most, ++running);
        // A few requests, which take a while.
        for (let i = 0; i < 3; i++) await client.pools.get("narrow").catch(() => undefined);
        running--;
      },
    });
    const url = nodes.map(({ grpcAddress }) => grpcAddress);
    const options = { tasks: [ask], url, pool: "narrow", slots: 4, warn: () => undefined };
    const workers = [1, 2, 3].map(() => new Worker(options));
    context.after(() => Promise.all(workers.map((worker) => worker.stop())));
    await Promise.all(workers.map((worker) => worker.start()));
    const ids: string[] = [];
    for (let i = 0; i < JOBS; i++) {
      ids.push((await client.submit({ target: { pool: "narrow", handler: "ask" } })).executionId ?? "");
      if (i === JOBS / 2) second.command.signal("SIGKILL");
    }
    const ended = await Promise.all(ids.map((id) => client.getExecution(id, { waitSec: 60 })));
    assert.deepEqual(new Set(ended.map(({ state }) => state)), new Set(["SUCCEEDED"]));
    // A handler whose worker counted as lost is not among the current ones, although it runs.
    const lost = ended.flatMap(({ attempts }) => attempts).filter(({ state }) => state === "WORKER_LOST");
    assert.ok(most >= LIMIT && most <= LIMIT + lost.length, `${most} ran at once`);
  });
});
