import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { TinyApi } from "../../test/tiny-api.ts";
import { Client } from "./client.ts";

describe("a client of an operator", () => {
  let api: TinyApi;
  let client: Client;
  before(async () => {
    api = await TinyApi.start();
    client = new Client({ url: api.url, apiKey: "" });
  });
  afterEach(() => void api.seen.splice(0));
  after(() => api.stop());

  const asked = () => api.seen.map(({ method, path, body }) => `${method} ${path} ${body}`);

  it("lists, replays and discards dead letters", async () => {
    const letter = { executionId: "e1" };
    const item = { executionId: "e1", outcome: "REPLAYED", newExecutionId: "e2" };
    const run = { runId: "r1", state: "RUNNING" };
    api.will({ status: 200, body: { items: [letter], nextCursor: null } }, { status: 200, body: { items: [item] } });
    api.will({ status: 202, body: run }, { status: 200, body: { ...run, state: "FINISHED" } });
    for await (const one of client.deadLetters.list({ pool: "gpu", since: new Date(0), limit: 5 })) {
      assert.deepEqual(one, letter);
    }
    assert.deepEqual(await client.deadLetters.replay(["e1"]), [item]);
    assert.deepEqual(await client.deadLetters.discardAll({ until: new Date(1) }), run);
    assert.equal((await client.deadLetters.run("r1")).state, "FINISHED");
    assert.deepEqual(asked(), [
      "GET /v1/dead-letters?pool=gpu&since=1970-01-01T00%3A00%3A00.000Z&limit=5 ",
      'POST /v1/dead-letters/replay {"executionIds":["e1"]}',
      'POST /v1/dead-letters/discard {"filter":{"until":"1970-01-01T00:00:00.001Z"}}',
      "GET /v1/dead-letters/runs/r1 ",
    ]);
  });

  it("does not repeat a replay whose answer was lost, but a discard", async () => {
    api.will("BREAK");
    await assert.rejects(client.deadLetters.replay(["e1"]), { code: "UNAVAILABLE" });
    api.will("BREAK", { status: 200, body: { items: [] } });
    assert.deepEqual(await client.deadLetters.discard(["e1"]), []);
  });

  it("previews, starts, lists and stops runs over executions, and starts one once if the answer is lost", async () => {
    const run = { runId: "r1", state: "RUNNING" };
    const count = { matching: 3, hasMore: false };
    api.will({ status: 200, body: count }, { status: 200, body: count });
    api.will("BREAK", { status: 202, body: run }, { status: 202, body: run });
    api.will({ status: 200, body: { items: [run], nextCursor: null } }, { status: 200, body: run });
    api.will({ status: 200, body: { ...run, state: "STOPPED" } });
    const { executionRuns } = client;
    assert.deepEqual(await client.countExecutions({ label: ["a", "b=c"], state: "DEAD" }), count);
    assert.deepEqual(await executionRuns.preview("CANCEL", { pool: "gpu" }), count);
    assert.deepEqual(await executionRuns.cancelAll({ pool: "gpu", until: new Date(1) }), run);
    await executionRuns.retryAll({ state: "DEAD" }, { idempotencyKey: "k" });
    for await (const one of executionRuns.list({ limit: 5 })) assert.deepEqual(one, run);
    assert.deepEqual(await executionRuns.get("r1"), run);
    assert.equal((await executionRuns.stop("r1")).state, "STOPPED");
    const cancel =
      'POST /v1/execution-runs {"action":"CANCEL","filter":{"pool":"gpu","until":"1970-01-01T00:00:00.001Z"}}';
    assert.deepEqual(asked(), [
      "GET /v1/execution-count?label=a&label=b%3Dc&state=DEAD ",
      'POST /v1/execution-runs/preview {"action":"CANCEL","filter":{"pool":"gpu"}}',
      cancel,
      cancel,
      'POST /v1/execution-runs {"action":"RETRY","filter":{"state":"DEAD"}}',
      "GET /v1/execution-runs?limit=5 ",
      "GET /v1/execution-runs/r1 ",
      "POST /v1/execution-runs/r1/stop ",
    ]);
    const keys = api.seen.slice(2, 5).map(({ headers }) => headers["idempotency-key"]);
    assert.ok(keys[0] !== undefined && keys[0] === keys[1]);
    assert.equal(keys[2], "k");
  });

  it("sets up pools, drains workers, asks why and how much", async () => {
    api.will(
      { status: 200, body: { name: "a b", paused: true } },
      { status: 200, body: { name: "a b", paused: false } },
    );
    api.will(
      { status: 200, body: { executions: [], executionsTotal: 0 } },
      { status: 202, body: { state: "DRAINING" } },
      { status: 200, body: { reasons: [] } },
      { status: 200, body: { attempt: 3 } },
      { status: 200, body: { attempt: 2 } },
      { status: 200, body: {} },
    );
    assert.equal((await client.pools.pause("a b")).paused, true);
    assert.equal((await client.pools.set("a b", { strategy: "FIFO", paused: false })).paused, false);
    assert.equal((await client.getWorker("w/1")).executionsTotal, 0);
    assert.equal((await client.drainWorker("w/1")).state, "DRAINING");
    assert.deepEqual((await client.explain("e1")).reasons, []);
    assert.equal((await client.getLogs("e1")).attempt, 3);
    assert.equal((await client.getLogs("e1", { attempt: 2 })).attempt, 2);
    assert.deepEqual(await client.stats(), {});
    assert.deepEqual(asked(), [
      'PUT /v1/pools/a%20b {"paused":true}',
      'PUT /v1/pools/a%20b {"strategy":"FIFO","paused":false}',
      "GET /v1/workers/w%2F1 ",
      "POST /v1/workers/w%2F1/drain ",
      "GET /v1/executions/e1/explain ",
      "GET /v1/executions/e1/logs ",
      "GET /v1/executions/e1/attempts/2/logs ",
      "GET /v1/stats ",
    ]);
  });

  it("waits until a node has nothing left, and not for ever", async () => {
    const status = (shards: number, workers: number | null, state = "DRAINING") => ({
      status: 200,
      body: { nodes: [{ nodeId: "n", state, shards, workers }] },
    });
    api.will(status(2, 1), status(0, 1), status(0, 0));
    assert.deepEqual(await client.cluster.emptied("n"), status(0, 0).body.nodes[0]);
    api.will(status(2, null));
    assert.equal((await client.cluster.emptied("n", { timeoutMs: 0 }))?.shards, 2);
    api.will(status(2, null, "GONE"));
    assert.equal(await client.cluster.emptied("n"), null);
  });

  it("looks at the cluster, and empties a node and takes that back", async () => {
    const node = { nodeId: "n/1", state: "DRAINING" };
    api.will({ status: 200, body: { nodes: [node] } }, { status: 202, body: node });
    api.will({ status: 202, body: { ...node, state: "LIVING" } });
    assert.deepEqual((await client.cluster.status()).nodes, [node]);
    assert.equal((await client.cluster.drain("n/1")).state, "DRAINING");
    assert.equal((await client.cluster.undrain("n/1")).state, "LIVING");
    assert.deepEqual(asked(), [
      "GET /v1/cluster ",
      "POST /v1/cluster/nodes/n%2F1/drain ",
      "POST /v1/cluster/nodes/n%2F1/undrain ",
    ]);
  });
});
