import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { FEATURE_LEVEL } from "../../domain/cluster/feature-level.ts";
import type { Envelope } from "../../ports/bus.ts";
import { busConformance } from "../../ports/conformance/bus.conformance.ts";
import type { ToApi } from "../../ports/messages.ts";
import { Cluster, type TestNode } from "./mesh.fixture.ts";

const cluster = new Cluster();

busConformance("mesh, alone", () => cluster.bus("node-1"));

const final = (executionId: string): ToApi => ({ kind: "FINAL", executionId, state: "SUCCEEDED" });

describe("the mesh between nodes", () => {
  afterEach(() => cluster.close());

  it("delivers between three nodes, in both directions, and says who sent it", async () => {
    const nodes = await cluster.start("a", "b", "c");
    for (const from of nodes) {
      for (const to of nodes) {
        const heard = to.heard();
        from.bus.send({ node: to.bus.node, role: "api" }, final(from.bus.node));
        assert.deepEqual(await heard, [{ from: from.bus.node, message: final(from.bus.node) }]);
      }
    }
  });

  it("carries bytes as they are, and lists that are larger than a message may be", async () => {
    const [a, b] = await cluster.start("a", "b");
    const payload = new Uint8Array(1024 * 1024).map((_, i) => i % 251);
    const results = Array.from({ length: 20 }, (_, i) => result(`e${i}`, i % 2 === 0 ? payload : null));
    const heard = b.heardBy("scheduler", (messages) => resultsOf(messages).length === results.length);
    a.bus.send({ node: "b", role: "scheduler" }, { kind: "FINISHED", results });
    const arrived = resultsOf(await heard);
    assert.deepEqual(
      arrived.map(({ executionId }) => executionId),
      results.map(({ executionId }) => executionId),
    );
    for (const { result: bytes } of arrived) assert.ok(bytes === null || Buffer.compare(bytes, payload) === 0);
  });

  it("delivers in order, though large packets are made and read in turns", async () => {
    const [a, b] = await cluster.start("a", "b");
    const names = Array.from({ length: 30_000 }, (_, n) => `e${n}`);
    const heard = b.heardBy("api", (messages) => messages.length === names.length + 1);
    for (const name of names) a.bus.send({ node: "b", role: "api" }, final(name));
    await cluster.turn();
    a.bus.send({ node: "b", role: "api" }, final("late"));
    assert.deepEqual(
      (await heard).map(({ message }) => message),
      [...names, "late"].map(final),
    );
  });

  it("knows the roles of the others, and who owns what they announced", async () => {
    const [a, b] = await cluster.start("a", "b");
    assert.deepEqual(a.bus.nodes("gateway"), ["b"]);
    const heard = a.heard();
    b.bus.send({ node: "a", role: "api" }, { kind: "OWNER", term: 1, shards: [{ shard: 3, epoch: 7 }] });
    await heard;
    assert.equal(a.bus.ownerOf(3), "b");
  });

  it("finds out whether an address leads to itself, as others will", async () => {
    const [a, b] = await cluster.start("a", "b");
    assert.equal(await a.bus.reachesItself(a.address), null);
    assert.equal(await a.bus.reachesItself(b.address), "this is b, and not a");
    await b.kill();
    assert.match((await a.bus.reachesItself(b.address)) ?? "", /ECONNREFUSED/);
  });

  it("takes a node that was killed for unreachable at once, and one that is new at its address for another", async () => {
    const [a, b] = await cluster.start("a", "b");
    await b.kill();
    await cluster.until(() => !a.bus.nodes("gateway").includes("b"));
    // The sender keeps no message for the node.
    a.bus.send({ node: "b", role: "api" }, final("lost"));
    assert.deepEqual(a.bus.load(), { connections: 0, dropped: 1, waitingBytes: 0 });
    const again = await cluster.startAt(b.address, "b-again");
    await cluster.until(() => again.wire.connections >= 3);
    assert.deepEqual(a.bus.nodes("gateway"), []);
    cluster.meet();
    const heard = again.heard();
    a.bus.send({ node: "b-again", role: "api" }, final("for the new one"));
    assert.deepEqual(await heard, [{ from: "a", message: final("for the new one") }]);
    assert.deepEqual(a.bus.nodes("gateway"), ["b-again"]);
  });

  it("finds a node again whose connections were only reset", async () => {
    const [a, b] = await cluster.start("a", "b");
    await greeted(a, b);
    b.wire.reset();
    await cluster.until(() => !a.bus.nodes("gateway").includes("b"));
    await cluster.until(() => a.bus.nodes("gateway").includes("b"));
    const heard = b.heard();
    a.bus.send({ node: "b", role: "api" }, final("again"));
    assert.equal((await heard).length, 1);
  });

  it("does not take part without the key", async () => {
    const [a, b] = await cluster.start("a", "b");
    const stranger = await cluster.startAs("stranger", { apiKey: "another-key-of-16-chars" });
    cluster.meet();
    await cluster.until(() => stranger.bus.nodes("gateway").length === 0);
    stranger.bus.send({ node: "a", role: "api" }, final("from a stranger"));
    const heard = a.heard();
    b.bus.send({ node: "a", role: "api" }, final("from a friend"));
    assert.deepEqual(await heard, [{ from: "b", message: final("from a friend") }]);
    await cluster.until(() => a.bus.nodes("gateway").length === 1);
  });

  it("speaks with nodes that are one level apart, and with no others", async () => {
    const [a] = await cluster.start("a");
    const next = await cluster.startAs("next", { level: FEATURE_LEVEL + 1 });
    const far = await cluster.startAs("far", { level: FEATURE_LEVEL + 2 });
    cluster.meet();
    await cluster.until(() => !a.bus.nodes("gateway").includes("far") && !far.bus.nodes("gateway").includes("a"));
    const heard = a.heard();
    far.bus.send({ node: "a", role: "api" }, final("from afar"));
    next.bus.send({ node: "a", role: "api" }, final("from the next one"));
    assert.deepEqual(await heard, [{ from: "next", message: final("from the next one") }]);
  });

  it("forgets the oldest of what waits for a node that does not read", async () => {
    const [a, b] = await cluster.start("a", "b");
    await greeted(a, b);
    b.wire.hold();
    const payload = new Uint8Array(1024 * 1024);
    for (let i = 0; i < 100; i++) {
      a.bus.send({ node: "b", role: "scheduler" }, { kind: "FINISHED", results: [result(`e${i}`, payload)] });
      await cluster.turn();
    }
    const { connections, dropped, waitingBytes } = a.bus.load();
    assert.ok(connections === 1 && dropped > 20 && waitingBytes > 20 * payload.length, `${dropped} ${waitingBytes}`);
    const heard = b.heardBy("scheduler", (messages) =>
      resultsOf(messages).some(({ executionId }) => executionId === "e99"),
    );
    b.wire.release();
    const ids = resultsOf(await heard).map(({ executionId }) => executionId);
    assert.equal(ids[0], "e0");
    assert.equal(ids.length, 100 - dropped, "what did not arrive was counted");
  });
});

async function greeted(a: TestNode, b: TestNode): Promise<void> {
  const heard = b.heard();
  a.bus.send({ node: b.bus.node, role: "api" }, final("hello"));
  await heard;
}

function result(executionId: string, bytes: Uint8Array | null) {
  return {
    ...{ shard: 1, executionId, attempt: 1, workerId: "w", state: "SUCCEEDED" as const, startedAt: 1, finishedAt: 2 },
    ...{ result: bytes, error: null, advice: null },
  };
}

function resultsOf(messages: readonly Envelope<unknown>[]) {
  return (messages as Envelope<{ results: ReturnType<typeof result>[] }>[]).flatMap(({ message }) => message.results);
}
