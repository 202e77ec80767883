import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { status } from "@grpc/grpc-js";
import { Client } from "@mainspring/sdk";
import { packed } from "./adapters/mesh/packet.ts";
import { RawStream } from "./adapters/mesh/raw-stream.fixture.ts";
import { startTestServer, storeUrl, type TestServer } from "./adapters/sql/testing/databases.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";
import type { Readiness } from "./ops/health.ts";

const KEY = "the-api-key-of-all-clients";
const SECRET = "the-secret-of-this-cluster";

describe("a cluster that is given a secret, node by node", () => {
  let server: TestServer;
  let store: string;
  const nodes: RunningNode[] = [];
  const streams: RawStream[] = [];
  before(async () => {
    server = await startTestServer();
    store = storeUrl(await server.newDatabase());
  });
  afterEach(async () => {
    for (const stream of streams.splice(0)) stream.close();
    await Promise.all(nodes.splice(0).map((node) => node.stop()));
  });
  after(() => server.stop());

  const start = async (env: Record<string, string> = {}) => {
    const cluster = { MAINSPRING_STORE: store, MAINSPRING_BUS: "mesh", MAINSPRING_API_KEY: KEY };
    const node = await startLocalNode({ ...cluster, ...env });
    nodes.push(node);
    return node;
  };
  const withSecret = { MAINSPRING_CLUSTER_SECRET: SECRET };
  const idsOf = async (node: RunningNode) => {
    const client = new Client({ url: node.httpUrl, apiKey: KEY });
    const { nodes: listed } = await client.cluster.status();
    return new Map(listed.filter(({ state }) => state === "LIVING").map(({ address, nodeId }) => [address, nodeId]));
  };
  /**
   * Opens a stream as another node of the cluster, with the API key alone.
   * @returns how the stream ends; null: the node accepts it
   */
  const forge = async (to: RunningNode, from: string): Promise<string | null> => {
    const stream = new RawStream(to.grpcAddress, KEY);
    streams.push(stream);
    stream.hello(from, (await idsOf(to)).get(to.grpcAddress) ?? "");
    const welcome = stream.reply().then(() => null);
    return Promise.race([welcome, stream.status.then(({ code, details }) => `${status[code]}: ${details}`)]);
  };
  const runs = async (node: RunningNode) => {
    const client = new Client({ url: node.httpUrl, apiKey: KEY });
    const submitted = await Promise.all(
      Array.from({ length: 30 }, () => client.submit({ target: { handler: "echo" }, payload: 1 })),
    );
    for (const { executionId } of submitted) {
      assert.equal((await client.getExecution(executionId, { waitSec: 30 })).state, "SUCCEEDED");
    }
  };

  it("works on at each step, and believes no API key once every node has the secret", async () => {
    const olds = [await start(), await start(), await start()];
    const news: RunningNode[] = [];
    for (const old of olds) {
      const node = await start(withSecret);
      news.push(node);
      await runs(node);
      const living = await idsOf(node);
      const other = living.get(old.grpcAddress) ?? "";
      assert.equal(await forge(node, other), null, "there are nodes without a secret");
      assert.match((await forge(node, "nobody")) ?? "", /PERMISSION_DENIED: no lease says that a node nobody lives/);
      nodes.splice(nodes.indexOf(old), 1);
      await old.stop();
    }
    const [first, second] = news as [RunningNode, RunningNode];
    const ids = await idsOf(first);
    const of = (node: RunningNode) => ids.get(node.grpcAddress) ?? "";
    // The node refuses strangers once the leases contain no node without a secret any more.
    const refused = await until(() => forge(first, of(second)));
    assert.match(refused, /UNAUTHENTICATED: every node of this cluster proves/);
    await runs(first);
  });

  it("does not take in a node without one", async () => {
    const first = await start(withSecret);
    await assert.rejects(start(), (error: Error) => {
      assert.equal(error.name, "ClusterSecretMissing");
      assert.match(error.message, /has a secret.*set MAINSPRING_CLUSTER_SECRET/);
      return true;
    });
    await runs(first);
  });

  it("gives no shard to a node with another one, which says that it is not ready", async () => {
    const [first, second] = [await start(withSecret), await start(withSecret)];
    const stranger = await start({ MAINSPRING_CLUSTER_SECRET: "the-secret-of-another-cluster" });
    const readyz = async ({ httpUrl }: RunningNode) => {
      const { status, checks } = (await (await fetch(`${httpUrl}/readyz`)).json()) as Readiness;
      return { status, detail: checks.find(({ name }) => name === "peers")?.detail ?? "" };
    };
    const said = await until(async () => {
      const found = await readyz(stranger);
      return found.status === "ready" ? null : found;
    });
    assert.match(said.detail, /do not all reach each other, so it takes none: its cluster secret, /);
    // A node is not ready while its shards are being moved.
    for (const node of [first, second]) await until(async () => (await readyz(node)).status === "ready");
    const { nodes: listed } = await new Client({ url: first.httpUrl, apiKey: KEY }).cluster.status();
    assert.equal(listed.find(({ address }) => address === stranger.grpcAddress)?.shards, 0);
    await runs(first);
  });

  it("hears nothing from a client that says it owns all shards, or that others' work is done", async () => {
    const [first, second] = [await start(withSecret), await start(withSecret)];
    const id = (await idsOf(first)).get(second.grpcAddress) ?? "";
    const stream = new RawStream(first.grpcAddress, KEY);
    streams.push(stream);
    stream.hello(id, (await idsOf(first)).get(first.grpcAddress) ?? "", "a-nonce");
    assert.ok((await stream.reply()).challenge);
    const shards = Array.from({ length: 64 }, (_, shard) => ({ shard, epoch: 1_000_000 }));
    const forged = { kind: "OWNER" as const, term: 1_000_000, life: 1, shards, demand: [] };
    stream.say({ part: packed([{ role: "gateway", message: forged }]) });
    assert.equal((await stream.status).code, status.UNAUTHENTICATED);
    await runs(first);
  });
});
