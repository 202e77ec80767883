import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { Client, type ClusterStatus, type ClusterNode as NodeStatus, task, Worker } from "@mainspring/sdk";
import { FEATURE_LEVEL, until } from "@mainspring/server/testing";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";
import { mainspring } from "./testing/command.ts";

describe("operating a cluster", () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await TestCluster.open();
  });
  const workers: Worker[] = [];
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
    await cluster.stopNodes();
  });
  after(() => cluster.close());

  const run = (at: ClusterNode, ...args: string[]) =>
    mainspring(["cluster", ...args], { env: { MAINSPRING_URL: at.httpUrl } });
  const status = (at: ClusterNode) => new Client({ url: at.httpUrl }).cluster.status();
  const statusOf = async (node: ClusterNode, at = node): Promise<NodeStatus | undefined> =>
    (await status(at)).nodes.find(({ address }) => address === node.grpcAddress);
  const readiness = async ({ httpUrl }: ClusterNode) => {
    const answer = await fetch(`${httpUrl}/readyz`);
    const { checks } = (await answer.json()) as { checks: { name: string; ok: boolean }[] };
    return { status: answer.status, failed: checks.filter(({ ok }) => !ok).map(({ name }) => name) };
  };
  const isReady = async (node: ClusterNode) => (await readiness(node)).status === 200;

  it("shows the nodes and their shards, to people and to programs", async () => {
    const [first, second] = [await cluster.node(), await cluster.node({ MAINSPRING_ROLES: "gateway" })];
    const { stdout, code } = await run(first, "status", "--json");
    const { nodes, shards, level, lag } = JSON.parse(stdout) as ClusterStatus;
    assert.deepEqual([code, level, lag.silentOwners], [0, FEATURE_LEVEL, 0]);
    assert.deepEqual(
      nodes.map(({ address, roles, state, shards: count }) => [address, roles.length, state, count]).sort(),
      [
        [first.grpcAddress, 3, "LIVING", 64],
        [second.grpcAddress, 1, "LIVING", 0],
      ].sort(),
    );
    assert.ok(shards.every(({ epoch, nodeId }) => epoch > 0 && nodeId !== null));
    const text = (await run(first, "status")).stdout;
    assert.match(text, /^NODE +STATE +ROLES +VERSION +SHARDS +WORKERS/);
    assert.match(
      text,
      new RegExp(`${first.grpcAddress} +LIVING +api,scheduler,gateway +\\S+ \\(${FEATURE_LEVEL}\\) +64 +1`),
    );
    assert.match(text, /shards +64 of 64 have an owner\nready +0 executions, nothing waits/);
  });

  it("has health and figures on a node without the api, and nothing else", async () => {
    await cluster.node();
    const gateway = await cluster.node({ MAINSPRING_ROLES: "gateway" });
    await until(() => isReady(gateway));
    assert.equal((await fetch(`${gateway.httpUrl}/healthz`)).status, 200);
    const figures = async () => (await fetch(`${gateway.httpUrl}/metrics`)).text();
    await until(async () => /^mainspring_mesh_connections 1$/m.test(await figures()));
    assert.match(await figures(), /^mainspring_workers_connected 1$/m);
    assert.match(await figures(), /^mainspring_cluster_nodes 2$/m);
    const answer = await fetch(`${gateway.httpUrl}/v1/jobs`);
    assert.equal(answer.status, 404);
    assert.match(await answer.text(), /does not have the role api: ask one that has it/);
  });

  it("empties a node under load, whose api goes on, and fills it again", async () => {
    const nodes = [await cluster.node(), await cluster.node()] as const;
    const [first, second] = nodes;
    for (const node of nodes) await until(() => isReady(node));
    const runs = new Map<string, number>();
    const tick = task({
      name: "tick",
      run: async (_payload, context) => void runs.set(context.executionId, (runs.get(context.executionId) ?? 0) + 1),
    });
    const url = nodes.map(({ grpcAddress }) => grpcAddress);
    const options = { tasks: [tick], url, pool: "ticks", warn: () => undefined };
    workers.push(...[1, 2, 3, 4].map(() => new Worker(options)));
    await Promise.all(workers.map((worker) => worker.start()));
    const client = new Client({ url: first.httpUrl });
    const ids: string[] = [];
    const enough = new AbortController();
    const load = (async () => {
      while (!enough.signal.aborted)
        ids.push((await client.submit({ target: { pool: "ticks", handler: "tick" } })).executionId ?? "");
    })();

    const { code, stdout, stderr } = await run(second, "drain", first.grpcAddress, "--wait", "60s");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, new RegExp(`${first.grpcAddress} +DRAINING +\\S+ +\\S+ \\(\\d\\) +0 +0 `));
    assert.deepEqual(await readiness(first), { status: 503, failed: ["draining"] });
    // The last shard may still be on its way.
    await until(async () => (await statusOf(second))?.shards === 64);
    const figures = await (await fetch(`${first.httpUrl}/metrics`)).text();
    assert.doesNotMatch(figures, /^mainspring_takeovers_total\{/m, "they were given, not taken");
    assert.equal((await run(first, "drain", second.grpcAddress)).code, 1, "somebody has to stay");

    assert.equal((await run(first, "undrain", first.grpcAddress)).code, 0);
    await until(async () => (await isReady(first)) && ((await statusOf(first))?.shards ?? 0) > 20);
    enough.abort();
    await load;
    const ended = await Promise.all(ids.map((id) => client.getExecution(id, { waitSec: 50 })));
    // Executions that were just assigned to a drained worker are handed back, and count against no limit.
    const ends = ended.flatMap(({ attempts }) => attempts.map(({ state }) => state));
    assert.deepEqual(new Set(ends.filter((state) => state !== "RELEASED")), new Set(["SUCCEEDED"]));
    assert.deepEqual([runs.size, ...new Set(runs.values())], [ids.length, 1]);
  });

  it("says who could be meant where nobody is called so", async () => {
    const node = await cluster.node();
    const { code, stderr } = await run(node, "drain", "10.9.9.9:8081");
    assert.deepEqual(
      [code, stderr],
      [1, `mainspring: no living node is called 10.9.9.9:8081: give one of ${node.grpcAddress}\n`],
    );
    const { nodeId = "" } = (await statusOf(node)) ?? {};
    const alone = await run(node, "drain", nodeId.slice(0, 12));
    assert.match(
      alone.stderr,
      /^mainspring: .*this server is alone, and nobody could take its work: to end it, stop it/,
    );
  });
});
