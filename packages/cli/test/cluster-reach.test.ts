import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { Client, type ClusterNode as NodeStatus } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import { freePort } from "../../../tools/services/free-port.ts";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";
import { mainspring } from "./testing/command.ts";
import { TestLink } from "./testing/link.ts";

const JOBS = 192;
const KEY = "key-of-this-cluster-for-tests";
const OTHER_KEY = "key-of-another-cluster-for-tests";

describe("nodes of a cluster that do not reach each other", () => {
  let cluster: TestCluster;
  const links: TestLink[] = [];
  before(async () => {
    cluster = await TestCluster.open();
  });
  afterEach(async () => {
    for (const link of links.splice(0)) link.close();
    await cluster.stopNodes();
  });
  after(() => cluster.close());

  const clientOf = ({ httpUrl }: ClusterNode, apiKey = KEY) => new Client({ url: httpUrl, apiKey });
  const nodeWith = (apiKey: string) => cluster.node({ MAINSPRING_API_KEY: apiKey });
  const statusOf = async (node: ClusterNode, at = node, apiKey = KEY): Promise<NodeStatus | undefined> =>
    (await clientOf(at, apiKey).cluster.status()).nodes.find(({ address }) => address === node.grpcAddress);
  const readiness = async ({ httpUrl }: ClusterNode) => {
    const answer = await fetch(`${httpUrl}/readyz`);
    const { checks } = (await answer.json()) as { checks: { name: string; ok: boolean; detail: string }[] };
    return { status: answer.status, failed: checks.filter(({ ok }) => !ok) };
  };
  const isReady = async (node: ClusterNode) => (await readiness(node)).status === 200;
  const figureOf = async ({ httpUrl }: ClusterNode, name: string, apiKey = KEY) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const text = await (await fetch(`${httpUrl}/metrics`, { headers })).text();
    return Number(new RegExp(`^mainspring_${name} (\\S+)$`, "m").exec(text)?.[1]);
  };
  /** Runs jobs of all shards with the built-in workers. @returns their final states */
  const statesAfter = async (node: ClusterNode) => {
    const client = clientOf(node);
    const jobs = Array.from({ length: JOBS }, (_, n) => ({ target: { handler: "echo" }, payload: n }));
    const ids = (await client.submitBatch(jobs)).map((item) => ("executionId" in item ? item.executionId : null));
    const ended = await Promise.all(ids.map((id) => client.getExecution(id as string, { waitSec: 50 })));
    return [ended.length, ...new Set(ended.map(({ state }) => state))];
  };

  it("leave out a node with another API key: it owns no shard, says so, and no job stands still", async () => {
    const nodes = [await nodeWith(KEY), await nodeWith(KEY)] as const;
    const [first, second] = nodes;
    for (const node of nodes) await until(() => isReady(node));
    const stranger = await nodeWith(OTHER_KEY);
    assert.deepEqual(await statesAfter(first), [JOBS, "SUCCEEDED"]);

    const { status, failed } = await readiness(stranger);
    assert.deepEqual([status, failed.map(({ name }) => name)], [503, ["peers"]]);
    assert.match(failed[0]?.detail ?? "", /^this node and the 2 that may own shards do not all reach each other/);
    assert.deepEqual(await Promise.all(nodes.map(isReady)), [true, true]);
    const seen = await statusOf(stranger, first);
    assert.deepEqual([seen?.shards, seen?.isCutOff, seen?.unreached?.length], [0, true, 2]);
    assert.equal((await statusOf(stranger, stranger, OTHER_KEY))?.isCutOff, true, "by its own word too");
    const shards = [await statusOf(first), await statusOf(second)].map((node) => node?.shards ?? 0);
    assert.ok(shards.every((count) => count > 0));
    assert.equal((shards[0] as number) + (shards[1] as number), 64);
    const { stdout } = await mainspring(["cluster", "status"], {
      env: { MAINSPRING_URL: first.httpUrl, MAINSPRING_API_KEY: KEY },
    });
    assert.match(stdout, new RegExp(`${stranger.grpcAddress} +LIVING \\(cut off\\)`));
    const figures = [stranger, first].map((node, i) => figureOf(node, "cut_off", i === 0 ? OTHER_KEY : KEY));
    assert.deepEqual(await Promise.all(figures), [1, 0]);
    assert.equal(await figureOf(first, "unreached_nodes"), 1);

    await stranger.command.says(/this node is cut off: .* takes no shards/);
    stranger.command.signal("SIGTERM");
    assert.equal((await stranger.command.done).code, 0);
  });

  it("leave out a node that the others cannot reach any more, and take it back when they can", async () => {
    const port = await freePort();
    const link = new TestLink();
    links.push(link);
    const address = await link.listen(port);
    const env = { MAINSPRING_API_KEY: KEY };
    const behind = { ...env, MAINSPRING_GRPC: `127.0.0.1:${port}`, MAINSPRING_ADVERTISE: address };
    const nodes = [await cluster.node(env), await cluster.node(env), await cluster.node(behind)] as const;
    const [first, second, third] = nodes;
    const shardsOf = async (at: ClusterNode) =>
      (await clientOf(first).cluster.status()).nodes.find((node) => node.address === at.grpcAddress)?.shards ?? 0;
    const behindLink = { ...third, grpcAddress: address };
    await until(async () => (await shardsOf(behindLink)) > 0);

    link.break();
    await until(
      async () => (await shardsOf(behindLink)) === 0 && (await shardsOf(first)) + (await shardsOf(second)) === 64,
    );
    // A node hears of its own share and of its reach at different times.
    const failedOf = async (node: ClusterNode) => (await readiness(node)).failed.map(({ name }) => name).join();
    await until(async () => (await failedOf(third)) === "peers");
    assert.deepEqual(await statesAfter(first), [JOBS, "SUCCEEDED"]);

    link.mend();
    await until(async () => (await shardsOf(behindLink)) > 0);
    await until(async () => (await failedOf(third)) === "");
  });

  it("leave out one of two, and always the same one", async () => {
    const first = await nodeWith(KEY);
    const second = await nodeWith(OTHER_KEY);
    await until(async () => (await readiness(second)).failed.some(({ name }) => name === "peers"));
    assert.deepEqual(await statesAfter(first), [JOBS, "SUCCEEDED"]);
    assert.deepEqual([await isReady(first), (await statusOf(first))?.shards], [true, 64]);

    first.command.signal("SIGKILL");
    await first.command.done;
    await until(() => isReady(second));
    assert.equal((await statusOf(second, second, OTHER_KEY))?.shards, 64, "it is the only one that lives");
  });
});
