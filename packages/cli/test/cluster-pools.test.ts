import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type ChangedPool, Client } from "@mainspring/sdk";
import { FEATURE_LEVEL, until } from "@mainspring/server/testing";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";
import { mainspring } from "./testing/command.ts";

const POOL = "default";
const ROUNDS = 10;
/** Number of jobs: enough that every node owns the shards of some. */
const JOBS = 20;

describe("settings of pools in a cluster", () => {
  let cluster: TestCluster;
  let nodes: ClusterNode[];
  let clients: Client[];
  before(async () => {
    cluster = await TestCluster.open();
    nodes = await Promise.all([cluster.node(), cluster.node(), cluster.node()]);
    clients = nodes.map(({ httpUrl }) => new Client({ url: httpUrl }));
    for (const node of nodes) await until(async () => (await shardsOf(node)) >= 20);
  });
  after(() => cluster.close());

  const client = (index: number) => clients[index % clients.length] as Client;
  const shardsOf = async ({ grpcAddress }: ClusterNode) =>
    (await client(0).cluster.status()).nodes.find(({ address }) => address === grpcAddress)?.shards ?? 0;
  const submitted = async () => {
    const jobs = Array.from({ length: JOBS }, (_, i) => client(i).submit({ target: { handler: "echo" } }));
    return (await Promise.all(jobs)).map(({ executionId }) => executionId ?? "");
  };
  const isPaused = async (id: string, through: Client): Promise<boolean> => {
    const reasons = (await through.explain(id)).reasons.map(({ reason }) => reason);
    return reasons.includes("OWNER_SILENT") ? isPaused(id, through) : reasons.includes("POOL_PAUSED");
  };
  const assertWaiting = async (ids: readonly string[]) => {
    assert.deepEqual(
      await Promise.all(ids.map((id, i) => isPaused(id, client(i)))),
      ids.map(() => true),
    );
    const read = await Promise.all(ids.map((id, i) => client(i + 1).getExecution(id)));
    assert.deepEqual(new Set(read.map(({ state }) => state)), new Set(["PENDING"]));
    assert.ok(read.every(({ attempts }) => attempts.length === 0));
  };
  const assertRun = async (ids: readonly string[]) => {
    const ended = await Promise.all(ids.map((id, i) => client(i + 2).getExecution(id, { waitSec: 50 })));
    assert.deepEqual(new Set(ended.map(({ state }) => state)), new Set(["SUCCEEDED"]));
  };

  it("hold on every node as soon as the call has returned, whichever node took it", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      assert.deepEqual((await client(round).pools.pause(POOL)).unconfirmedBy, [], `round ${round}`);
      const ids = await submitted();
      await assertWaiting(ids);
      assert.deepEqual((await client(round + 1).pools.resume(POOL)).unconfirmedBy, [], `round ${round}`);
      assert.deepEqual(
        await Promise.all(ids.map((id, i) => isPaused(id, client(i)))),
        ids.map(() => false),
      );
      await assertRun(ids);
    }
  });

  it("are those that were written last, where two change the same pool at once", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [pause, resume] = await Promise.all([client(0).pools.pause(POOL), client(1).pools.resume(POOL)]);
      assert.deepEqual([pause.unconfirmedBy, resume.unconfirmedBy], [[], []]);
      const { paused } = await client(2).pools.get(POOL);
      const { executionId } = await client(2).submit({ target: { handler: "echo" } });
      assert.equal(await isPaused(executionId ?? "", client(round)), paused, `round ${round}`);
      await client(0).pools.resume(POOL);
      await assertRun([executionId ?? ""]);
    }
  });

  it("are answered for by name where a node is frozen or dead, and hold once others have its shards", async () => {
    const gone = nodes.pop() as ClusterNode;
    clients.pop();
    gone.command.signal("SIGSTOP");
    // Its lease lasts longer than the call waits, unless this machine is very slow.
    const named = ({ unconfirmedBy = [] }: ChangedPool) => unconfirmedBy.map(({ address }) => address);
    const first = named(await client(0).pools.pause(POOL));
    assert.ok(first.length === 0 || first.join() === gone.grpcAddress, first.join());
    const shown = await mainspring(["pools", "pause", POOL], { env: { MAINSPRING_URL: nodes[1]?.httpUrl ?? "" } });
    assert.equal(shown.code, 0);
    const unconfirmed = /unconfirmed +(\S+)/.exec(shown.stdout)?.[1] ?? gone.grpcAddress;
    assert.equal(unconfirmed, gone.grpcAddress);
    gone.command.signal("SIGKILL");
    await gone.command.done;
    for (;;) {
      const still = named(await client(1).pools.pause(POOL));
      if (still.length === 0) break;
      assert.deepEqual(still, [gone.grpcAddress]);
    }
    const ids = await submitted();
    await assertWaiting(ids);
    assert.deepEqual((await client(0).pools.resume(POOL)).unconfirmedBy, []);
    await assertRun(ids);
  });
});

describe("settings of pools among nodes of two ages", () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await TestCluster.open();
  });
  after(() => cluster.close());

  it("are answered for by the name of a node that does not know the question, until it has left", async () => {
    const older = await cluster.nodeOf(FEATURE_LEVEL - 1);
    const newer = await cluster.nodeOf(FEATURE_LEVEL);
    const client = new Client({ url: newer.httpUrl });
    const shardsOf = async (address: string) =>
      (await client.cluster.status()).nodes.find((node) => node.address === address)?.shards ?? 0;
    for (const { grpcAddress } of [older, newer]) await until(async () => (await shardsOf(grpcAddress)) >= 30);
    const { paused, unconfirmedBy = [] } = await client.pools.pause(POOL);
    assert.equal(paused, true);
    assert.deepEqual(
      unconfirmedBy.map(({ address }) => address),
      [older.grpcAddress],
    );
    older.command.signal("SIGTERM");
    await older.command.done;
    assert.deepEqual((await client.pools.pause(POOL)).unconfirmedBy, []);
  });
});
