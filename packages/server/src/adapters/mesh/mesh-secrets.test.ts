import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { status } from "@grpc/grpc-js";
import { createLog } from "../../ops/logging.ts";
import type { ToApi } from "../../ports/messages.ts";
import { Cluster, KEY, type TestNode } from "./mesh.fixture.ts";
import { packed } from "./packet.ts";
import { proofsOf } from "./proofs.ts";
import { RawStream } from "./raw-stream.fixture.ts";

const OLD = "the-old-secret-of-the-cluster";
const NEW = "the-new-secret-of-the-cluster";
const final = (executionId: string): ToApi => ({ kind: "FINAL", executionId, state: "SUCCEEDED" });

describe("the secret of a cluster", () => {
  const cluster = new Cluster();
  const streams: RawStream[] = [];
  afterEach(() => {
    for (const stream of streams.splice(0)) stream.close();
    return cluster.close();
  });

  const stream = (to: TestNode, apiKey?: string) => {
    const opened = new RawStream(to.address, apiKey);
    streams.push(opened);
    return opened;
  };
  const twoWith = async (...secrets: string[]) => {
    const nodes = [await cluster.startAs("a", { secrets }), await cluster.startAs("b", { secrets })] as const;
    cluster.meet();
    return nodes;
  };
  /** Sends messages in both directions. */
  const talk = async (a: TestNode, b: TestNode) => {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      await cluster.until(() => from.bus.nodes("gateway").includes(to.bus.node));
      const heard = to.heard();
      from.bus.send({ node: to.bus.node, role: "api" }, final(from.bus.node));
      assert.deepEqual(await heard, [{ from: from.bus.node, message: final(from.bus.node) }]);
    }
  };
  const isApart = (a: TestNode, b: TestNode) =>
    cluster.until(() => !a.bus.nodes("gateway").includes(b.bus.node) && !b.bus.nodes("gateway").includes(a.bus.node));

  it("lets nodes speak that have it, whatever their API keys", async () => {
    const a = await cluster.startAs("a", { secrets: [OLD] });
    const b = await cluster.startAs("b", { secrets: [OLD], apiKey: "another-key-of-16-chars" });
    cluster.meet();
    await talk(a, b);
  });

  it("keeps nodes apart that have different ones, though they have the same API key", async () => {
    const a = await cluster.startAs("a", { secrets: [OLD] });
    const lines: string[] = [];
    const log = createLog("warn", { write: (line) => void lines.push(line) });
    const b = await cluster.startAs("b", { secrets: [NEW], log });
    cluster.meet();
    await isApart(a, b);
    assert.match(lines.join(""), /"node":"a".*"the node there has another MAINSPRING_CLUSTER_SECRET"/);
    assert.deepEqual([a.bus.load().connections, b.bus.load().connections], [0, 0]);
  });

  it("may be either of two while it is changed", async () => {
    const steps = [[OLD], [OLD, NEW], [NEW, OLD], [NEW]];
    for (let step = 1; step < steps.length; step++) {
      const a = await cluster.startAs(`a${step}`, { secrets: steps[step - 1] ?? [] });
      const b = await cluster.startAs(`b${step}`, { secrets: steps[step] ?? [] });
      cluster.meet();
      await talk(a, b);
    }
  });

  it("is not asked of a node without one until every living node has one", async () => {
    const a = await cluster.startAs("a", { secrets: [OLD] });
    const b = await cluster.startAs("b", {});
    cluster.meet();
    await talk(a, b);
    const [early, late] = [stream(a, KEY), stream(a, KEY)];
    early.hello("b", "a");
    assert.ok((await early.reply()).welcome);
    await b.kill();
    cluster.meet();
    late.hello("b", "a");
    for (const { status: ended } of [early, late]) {
      const { code, details } = await ended;
      assert.equal(code, status.UNAUTHENTICATED);
      assert.match(details, /every node of this cluster proves .*: set MAINSPRING_CLUSTER_SECRET/);
    }
  });

  it("is what an API key cannot replace, whatever node is named", async () => {
    const [a] = await twoWith(OLD);
    for (const from of ["a", "b", "nobody"]) {
      const forged = stream(a, KEY);
      forged.hello(from, "a");
      assert.equal((await forged.status).code, status.UNAUTHENTICATED);
    }
  });

  it("is never said, and a proof is of no use in another stream, for another node or the other way", async () => {
    const [a] = await twoWith(OLD);
    const first = stream(a);
    first.hello("b", "a", "nonce-1");
    const { challenge } = await first.reply();
    assert.ok(challenge);
    const encounter = { from: "b", to: "a", fromNonce: "nonce-1", toNonce: challenge.nonce };
    const right = proofsOf([OLD], "from", encounter);
    const wrong = [
      challenge.proofs,
      right,
      proofsOf([NEW], "from", encounter),
      proofsOf([OLD], "from", { ...encounter, from: "c" }),
      [new Uint8Array(0)],
      [],
    ];
    for (const proofs of wrong) {
      const second = stream(a);
      second.hello("b", "a", "nonce-1");
      assert.notEqual((await second.reply()).challenge?.nonce, challenge.nonce);
      second.say({ proof: { proofs: [...proofs] } });
      assert.equal((await second.status).code, status.UNAUTHENTICATED);
    }
    first.say({ proof: { proofs: right } });
    assert.ok((await first.reply()).welcome);
    const mirror = stream(a);
    mirror.hello("b", "a", "nonce-2");
    mirror.say({ proof: { proofs: (await mirror.reply()).challenge?.proofs ?? [] } });
    assert.equal((await mirror.status).code, status.UNAUTHENTICATED);
  });

  it("is proven by the node that was called as well", async () => {
    const a = await cluster.startAs("a", { secrets: [OLD] });
    // A foreign server at the address of a node, which accepts every stream.
    const stranger = await cluster.startAs("b", {});
    cluster.meet();
    await talk(a, stranger);
    stranger.claimsSecret = true;
    stranger.wire.reset();
    cluster.meet();
    await cluster.until(() => !a.bus.nodes("gateway").includes("b"));
  });
});

describe("a stream that is opened in the name of a node", () => {
  const cluster = new Cluster();
  const streams: RawStream[] = [];
  afterEach(() => {
    for (const stream of streams.splice(0)) stream.close();
    return cluster.close();
  });
  const stream = (to: TestNode, apiKey: string) => {
    const opened = new RawStream(to.address, apiKey);
    streams.push(opened);
    return opened;
  };

  it("is refused where no lease says that the node lives", async () => {
    const a = await cluster.startAs("a", { leaseWithinMs: 1 });
    cluster.meet();
    const forged = stream(a, KEY);
    forged.hello("nobody", "a");
    const { code, details } = await forged.status;
    assert.deepEqual([code, details], [status.PERMISSION_DENIED, "no lease says that a node nobody lives"]);
  });

  it("is refused without the key, where nodes have no secret", async () => {
    const [a] = await cluster.start("a", "b");
    const forged = stream(a, "not-the-key-of-the-cluster");
    forged.hello("b", "a");
    assert.equal((await forged.status).code, status.UNAUTHENTICATED);
  });

  it("waits for the lease of a node that is new", async () => {
    const [a] = await cluster.start("a");
    const early = stream(a, KEY);
    early.hello("c", "a");
    const c = await cluster.startAs("c", {});
    cluster.meet();
    assert.ok((await early.reply()).welcome);
    await c.kill();
  });

  it("carries nothing in the node's own name", async () => {
    const [a] = await cluster.start("a");
    const forged = stream(a, KEY);
    forged.hello("a", "a");
    assert.ok((await forged.reply()).welcome);
    a.bus.listen("api", () => assert.fail("a forged message was heard"));
    forged.say({ part: packed([{ role: "api", message: final("forged") }]) });
    assert.equal((await forged.status).code, status.INVALID_ARGUMENT);
  });
});
