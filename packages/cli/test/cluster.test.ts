import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";
import { serveOn } from "./testing/server.ts";

const JOBS = 300;

describe("a cluster of processes", () => {
  let cluster: TestCluster;
  let nodes: ClusterNode[];
  before(async () => {
    cluster = await TestCluster.open();
    nodes = await Promise.all([1, 2, 3].map(() => cluster.node()));
  });
  after(() => cluster.close());

  it("ends every job once when a node is killed under load and another is stopped gracefully", async (t) => {
    const runs = new Map<string, number>();
    const tick = task({
      name: "tick",
      run: async (_payload, context) => {
        runs.set(context.executionId, (runs.get(context.executionId) ?? 0) + 1);
      },
    });
    const url = nodes.map(({ grpcAddress }) => grpcAddress);
    const worker = new Worker({ tasks: [tick], url, pool: "ticks", warn: () => undefined });
    t.after(() => worker.stop());
    await worker.start();
    const [first, second, third] = nodes as [ClusterNode, ClusterNode, ClusterNode];
    const client = new Client({ url: first.httpUrl });
    const ids: string[] = [];
    for (let i = 0; i < JOBS; i++) {
      const { executionId } = await client.submit({ target: { pool: "ticks", handler: "tick" } });
      ids.push(executionId as string);
      if (i === JOBS / 3) second.command.signal("SIGKILL");
      if (i === (2 * JOBS) / 3) third.command.signal("SIGTERM");
    }
    const ended = await Promise.all(ids.map((id) => client.getExecution(id, { waitSec: 50 })));
    assert.deepEqual(new Set(ended.map(({ state }) => state)), new Set(["SUCCEEDED"]));
    assert.deepEqual([runs.size, ...new Set(runs.values())], [JOBS, 1]);
    assert.equal((await third.command.done).code, 0);
  });

  it("refuses a node that others could not reach where it says, and says what would be right", async () => {
    const nobody = await cluster.start({ MAINSPRING_ADVERTISE: "127.0.0.1:1" }).done;
    assert.match(
      nobody.stderr,
      /mainspring: 127\.0\.0\.1:1, where other nodes are to reach this one, does not lead to it: .*ECONNREFUSED.* It listens on 127\.0\.0\.1:\d+: set MAINSPRING_ADVERTISE/,
    );
    assert.equal(nobody.code, 1);
    const [other] = nodes as [ClusterNode];
    const another = await cluster.start({ MAINSPRING_ADVERTISE: other.grpcAddress }).done;
    assert.match(another.stderr, /does not lead to it: this is [0-9a-f-]+, and not [0-9a-f-]+\. It listens/);
  });

  it("refuses a server that does not know of it", async () => {
    const { stderr, code } = await serveOn(".", { MAINSPRING_STORE: cluster.storeUrl }).done;
    assert.match(stderr, /^mainspring: A cluster of Mainspring servers .* MAINSPRING_BUS=mesh to join it/m);
    assert.equal(code, 1);
  });
});
