import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";

const JOBS = 200;
/** Level of a program without drain, recurring jobs and limits of pools, and the level after it. */
const OLDER = 1;
const NEWER = 2;

describe("nodes of two ages in one cluster", () => {
  let cluster: TestCluster;
  let older: ClusterNode;
  let newer: ClusterNode;
  before(async () => {
    cluster = await TestCluster.open();
    older = await cluster.nodeOf(OLDER);
    newer = await cluster.nodeOf(NEWER);
  });
  let worker: Worker | null = null;
  after(async () => {
    await worker?.stop();
    await cluster.close();
  });

  it("share the work, while the older one is replaced under load, and use what is new only then", async () => {
    const runs = new Map<string, number>();
    const tick = task({
      name: "tick",
      run: async (_payload, context) => void runs.set(context.executionId, (runs.get(context.executionId) ?? 0) + 1),
    });
    const upgraded = await cluster.nodeOf(NEWER);
    const url = [older, newer, upgraded].map(({ grpcAddress }) => grpcAddress);
    worker = new Worker({ tasks: [tick], url, pool: "ticks", warn: () => undefined });
    await worker.start();
    const client = new Client({ url: newer.httpUrl });
    const shardsOf = async ({ grpcAddress }: ClusterNode) =>
      (await client.cluster.status()).nodes.find(({ address }) => address === grpcAddress)?.shards ?? 0;
    for (const node of [older, newer, upgraded]) await until(async () => (await shardsOf(node)) >= 20);
    assert.equal((await client.cluster.status()).level, OLDER);
    const { nodes } = await client.cluster.status();
    const nodeId = nodes.find(({ address }) => address === upgraded.grpcAddress)?.nodeId ?? "";
    await assert.rejects(client.cluster.drain(nodeId), {
      code: "CONFLICT",
      message: new RegExp(
        `${older.grpcAddress} \\(0\\.0\\.9\\) has feature level ${OLDER} and does not know of draining`,
      ),
    });

    const refusal = (what: string) => ({
      code: "CONFLICT",
      message: new RegExp(`feature level ${OLDER} and does not know of ${what}`),
    });
    const recurring = { everySec: 3600, target: { pool: "ticks", handler: "tick" } };
    await assert.rejects(client.submit(recurring), refusal("recurring jobs"));
    await assert.rejects(client.submitBatch([recurring]), refusal("recurring jobs"));
    await assert.rejects(client.pools.set("ticks", { maxRunning: 5 }), refusal("limits of pools"));

    const ids: string[] = [];
    for (let i = 0; i < JOBS; i++) {
      const api = i % 2 === 0 || i >= JOBS / 2 ? client : new Client({ url: older.httpUrl });
      const { executionId } = await api.submit({ target: { pool: "ticks", handler: "tick" } });
      ids.push(executionId ?? "");
      if (i === JOBS / 2) older.command.signal("SIGTERM");
    }
    const ended = await Promise.all(ids.map((id) => client.getExecution(id, { waitSec: 50 })));
    // Executions that were just assigned through the departed node are handed back, and count against no limit.
    const ends = ended.flatMap(({ attempts }) => attempts.map(({ state }) => state));
    assert.deepEqual(new Set(ends.filter((state) => state !== "RELEASED")), new Set(["SUCCEEDED"]));
    assert.deepEqual([runs.size, ...new Set(runs.values())], [JOBS, 1]);
    assert.equal((await older.command.done).code, 0);

    assert.equal((await client.cluster.status()).level, NEWER);
    assert.equal((await client.submit(recurring)).state, "ACTIVE");
    assert.equal((await client.pools.set("ticks", { maxRunning: 5 })).maxRunning, 5);
    assert.equal((await client.cluster.drain(nodeId)).state, "DRAINING");
    assert.equal((await client.cluster.emptied(nodeId))?.shards, 0);
  });

  it("are not more than one level apart: who is, is refused before it touches anything", async () => {
    const { stderr, code } = await cluster.startOf(NEWER + 2).done;
    assert.match(
      stderr,
      new RegExp(
        `of feature level ${NEWER}, and this program has level ${NEWER + 2}: nodes of one cluster may be ` +
          `one level apart, so bring every node to a program of level ${NEWER + 1} first\\. Nothing was changed`,
      ),
    );
    assert.equal(code, 1);
  });
});
