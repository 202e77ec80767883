import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ClusterBody, ClusterNodeBody } from "@mainspring/contract";
import { FEATURE_LEVEL, levelOf } from "../../domain/cluster/feature-level.ts";
import { SHARD_COUNT } from "../../domain/ids.ts";
import type { NodeProfile } from "../../ports/leases.ts";
import { startTestApi, type TestApi } from "../api.fixture.ts";

const LEASE_MS = 60_000;

describe("the cluster over HTTP", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  const lives = (incarnation: string, fields: Partial<NodeProfile> = {}) => {
    const name = `${incarnation}.example:8081`;
    const roles = ["api", "scheduler", "gateway"] as const;
    const said = { incarnation, name, address: name, roles, version: "1.0.0", level: FEATURE_LEVEL, startedAt: 1 };
    return api.leases.renew({ ...said, ...fields }, LEASE_MS);
  };
  const gone = (...nodes: string[]) => Promise.all(nodes.map((node) => api.leases.release(node)));
  const status = async () => (await api.inject({ url: "/v1/cluster" })).json<ClusterBody>();
  const order = async (node: string, verb: "drain" | "undrain") => {
    const answer = await api.inject({ method: "POST", url: `/v1/cluster/nodes/${node}/${verb}` });
    return { code: answer.statusCode, ...answer.json<ClusterNodeBody & { detail: string }>() };
  };

  it("tells of the nodes, their leases and their shards", async () => {
    await lives("a");
    await lives("b", { roles: ["gateway"], level: FEATURE_LEVEL - 1 });
    const [first, second] = await api.store.readShards();
    assert.ok(first && second);
    await api.store.takeOver([first, second], "a");
    const { level, nodes, shards, lag } = await status();
    assert.equal(level, FEATURE_LEVEL - 1, "what the older of the two understands");
    assert.deepEqual(
      nodes.map(({ nodeId, state, shards, workers, isReachable }) => [nodeId, state, shards, workers, isReachable]),
      [
        ["a", "LIVING", 2, null, false],
        ["b", "LIVING", 0, null, false],
      ],
    );
    assert.deepEqual([shards.length, shards[0]?.nodeId, shards[5]?.nodeId], [SHARD_COUNT, "a", null]);
    assert.ok((shards[0]?.epoch ?? 0) > first.epoch);
    assert.deepEqual(lag, { ready: 0, oldestReadyMs: null, silentOwners: 1 });
    await gone("a", "b");
  });

  it("tells which nodes do not reach each other, and which of them takes no part in the work", async () => {
    const roles = ["gateway"] as const;
    await lives("a", { reaches: ["a", "b"] });
    await lives("b", { reaches: ["a", "b", "c", "gate"] });
    await lives("c", { reaches: ["b", "c"] });
    await lives("gate", { roles, reaches: ["gate", "b"] });
    await lives("older", { roles, level: FEATURE_LEVEL - 1 });
    const { nodes } = await status();
    assert.deepEqual(
      nodes.map(({ nodeId, isCutOff, unreached }) => [nodeId, isCutOff, unreached?.map((at) => at.split(".")[0])]),
      [
        ["a", false, ["c", "gate", "older"]],
        ["b", false, ["older"]],
        ["c", true, ["a", "gate", "older"]],
        ["gate", false, ["a", "c", "older"]],
        ["older", true, undefined],
      ],
    );
    await gone("a", "b", "c", "gate", "older");
  });

  it("has a node drained and that taken back, and does both twice without harm", async () => {
    await lives("a");
    await lives("b");
    for (const _ of [1, 2]) {
      const { code, state } = await order("a", "drain");
      assert.deepEqual([code, state], [202, "DRAINING"]);
    }
    assert.equal((await lives("b")).find(({ incarnation }) => incarnation === "a")?.draining, true);
    for (const _ of [1, 2]) assert.equal((await order("a", "undrain")).state, "LIVING");
    await gone("a", "b");
  });

  it("finds no node that is unknown or gone", async () => {
    await lives("a");
    for (const verb of ["drain", "undrain"] as const) {
      const { code, detail } = await order("nobody", verb);
      assert.equal(code, 404);
      assert.match(detail, /no living node has the id nobody; GET \/v1\/cluster lists them/);
    }
    await gone("a");
  });

  it("drains nobody whose work none could take, and says what would be right", async () => {
    await lives("a");
    const alone = await order("a", "drain");
    assert.deepEqual([alone.code, /alone.* stop it/.test(alone.detail)], [409, true]);
    await lives("gate", { roles: ["gateway"] });
    assert.match(
      (await order("a", "drain")).detail,
      /no other node takes its shards: start one with the role scheduler/,
    );
    await lives("b", { roles: ["scheduler"] });
    assert.equal((await order("gate", "drain")).code, 202);
    assert.match(
      (await order("a", "drain")).detail,
      /no other node takes its workers: .* take the draining of one back/,
    );
    assert.equal((await order("gate", "undrain")).code, 202);
    assert.equal((await order("a", "drain")).code, 202);
    assert.match((await order("b", "drain")).detail, /no other node takes its shards/);
    await gone("a", "b", "gate");
  });

  it("drains nobody while a node lives that does not know of it", async () => {
    await lives("a");
    await lives("old", { level: levelOf("DRAINING") - 1, version: "0.9.0" });
    const { code, detail } = await order("a", "drain");
    assert.equal(code, 409);
    assert.match(
      detail,
      /old\.example:8081 \(0\.9\.0\) has feature level 1 and does not know of draining: bring every/,
    );
    await gone("a", "old");
  });
});
