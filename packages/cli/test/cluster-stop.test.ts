import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import { until } from "@mainspring/server/testing";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";

describe("a node that starts or stops beside others", () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await TestCluster.open();
  });
  afterEach(() => cluster.stopNodes());
  after(() => cluster.close());

  const isReady = async ({ httpUrl }: ClusterNode) =>
    (await fetch(`${httpUrl}/readyz`).catch(() => null))?.status === 200;

  it("fails no request when it stops behind a load balancer that only looks at /readyz", async () => {
    const nodes = [await cluster.node(), await cluster.node({ MAINSPRING_STOP_DELAY_SEC: "2" })];
    const [, leaving] = nodes as [ClusterNode, ClusterNode];
    for (const node of nodes) await until(() => isReady(node));
    const healthy = new Set(nodes);
    const over = new AbortController();
    const looks = nodes.map(async (node) => {
      while (!over.signal.aborted) {
        if (await isReady(node)) healthy.add(node);
        else healthy.delete(node);
      }
    });
    const answers: string[] = [];
    const clients = Array.from({ length: 4 }, async () => {
      for (let turn = 0; !over.signal.aborted; turn++) {
        const all = [...healthy];
        const { httpUrl } = all[turn % all.length] as ClusterNode;
        answers.push(await submitted(httpUrl));
      }
    });
    await until(() => answers.length >= 50);
    leaving.command.signal("SIGTERM");
    await until(() => !healthy.has(leaving));
    assert.equal(leaving.command.hasEnded, false, "the node serves on after /readyz has answered 503");
    assert.equal(await submitted(leaving.httpUrl), "201");
    await leaving.command.done;
    over.abort();
    await Promise.all([...clients, ...looks]);
    assert.deepEqual(new Set(answers), new Set(["201"]));
  });

  it("takes no shards where its HTTP port is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const env = { MAINSPRING_HTTP: `127.0.0.1:${port}`, MAINSPRING_LOG_LEVEL: "debug" };
    const { code, stdout, stderr } = await cluster.start(env).done;
    other.close();
    assert.notEqual(code, 0);
    assert.match(stderr, /is taken by another program/);
    assert.match(stdout, /"part":"store".*"stopped"/, "the log names the parts that were started");
    assert.doesNotMatch(stdout, /"part":"scheduler"/);
  });
});

async function submitted(url: string): Promise<string> {
  const request = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"target":{"handler":"echo"}}',
  };
  try {
    const answer = await fetch(`${url}/v1/jobs`, request);
    await answer.text();
    return String(answer.status);
  } catch (error) {
    return String((error as Error).cause ?? error);
  }
}
