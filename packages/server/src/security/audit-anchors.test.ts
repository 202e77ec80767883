import assert from "node:assert/strict";
import { generateKeyPairSync, sign, verify } from "node:crypto";
import { describe, it } from "node:test";
import { pino } from "pino";
import { SimStore } from "../adapters/simulated/sim-store.ts";
import { WELL } from "../adapters/simulated/store.fixture.ts";
import { StoreData } from "../adapters/simulated/store-data.ts";
import { shardOf } from "../domain/ids.ts";
import { auditNote, verified } from "../ports/audit.fixture.ts";
import { ManualRuntime } from "../ports/manual-runtime.fixture.ts";
import { AuditAnchors } from "./audit-anchors.ts";
import { CountedRefusals } from "./counted-refusals.ts";

const DAY_MS = 86_400_000;
const keys = generateKeyPairSync("ed25519");

/** A node with its audit log. */
class TestNode {
  readonly runtime = new ManualRuntime();
  readonly logged: unknown[] = [];
  readonly store: SimStore;
  readonly anchors: AuditAnchors;
  owns = true;

  constructor(days = 400) {
    const { runtime } = this;
    const data = new StoreData({ now: () => runtime.now() });
    this.store = new SimStore({ data, node: "node", time: runtime, latency: () => WELL });
    const log = pino({ level: "info" }, { write: (line) => void this.logged.push(JSON.parse(line).auditAnchor) });
    this.anchors = new AuditAnchors({
      ...{ audit: this.store.audit, runtime, log, days },
      owned: () => ({ has: (shard: number) => this.owns && shard === shardOf("audit") }),
      sign: (hash) => sign(null, Buffer.from(hash), keys.privateKey).toString("base64"),
    });
  }

  /** Runs a call of the store, whose answers take time. */
  async call<T>(call: Promise<T>): Promise<T> {
    const state = { isOver: false };
    const over = call.finally(() => (state.isOver = true));
    while (!state.isOver) await this.pass(1);
    return await over;
  }

  async pass(ms: number): Promise<void> {
    await this.runtime.advance(ms);
  }

  /** Lets a minute and the calls at its end pass. */
  async minute(): Promise<void> {
    await this.pass(60_000);
    for (let count = 0; count < 50; count++) await this.pass(1);
  }

  async all() {
    return await this.call(this.store.audit.anchors(0, 100));
  }
}

describe("anchors of the audit log", () => {
  it("seal what has moved since the anchor before, each minute, and chain the anchors", async () => {
    const node = new TestNode();
    node.anchors.start();
    await node.minute();
    assert.deepEqual(await node.all(), [], "there is nothing to seal");
    await node.call(node.store.audit.write([auditNote(), auditNote()]));
    await node.minute();
    await node.minute();
    await node.call(node.store.audit.write([auditNote()]));
    await node.minute();
    const anchors = await node.all();
    assert.deepEqual(
      anchors.map(({ number, heads }) => [number, heads.map(({ seq }) => seq)]),
      [
        [1, [2]],
        [2, [3]],
      ],
    );
    assert.equal(anchors[1]?.prev, anchors[0]?.hash);
    assert.deepEqual(node.logged, anchors);
    for (const { hash, signature } of anchors)
      assert.ok(verify(null, Buffer.from(hash), keys.publicKey, Buffer.from(signature ?? "", "base64")));
    assert.equal(await node.call(verified(node.store.audit)), null);
  });

  it("are written by the owner of one shard, and at the end of the node", async () => {
    const node = new TestNode();
    node.owns = false;
    node.anchors.start();
    await node.call(node.store.audit.write([auditNote()]));
    await node.minute();
    assert.deepEqual(await node.all(), []);
    node.owns = true;
    await node.call(node.anchors.stop());
    assert.equal((await node.all()).length, 1);
  });

  it("remove months only behind an anchor that names their last records", async () => {
    const node = new TestNode(30);
    await node.call(node.store.audit.write([auditNote(), auditNote()]));
    await node.pass(93 * DAY_MS);
    await node.call(node.store.audit.write([auditNote()]));
    node.anchors.start();
    await node.minute();
    const records = await node.call(node.store.audit.read(null, 100));
    assert.deepEqual(
      records.map(({ seq }) => seq),
      [3],
    );
    assert.deepEqual(
      (await node.all()).map(({ floors }) => floors.map(({ seq }) => seq)),
      [[], [2]],
    );
    assert.equal(await node.call(verified(node.store.audit)), null);
  });
});

describe("refusals", () => {
  const refused = {
    ...{ action: "logIn", reason: "unauthorized", address: "10.0.0.1", tenant: "default" },
    actor: { kind: "UNKNOWN", keyId: null, for: null },
  } as const;

  it("are counted by the minute and address, and written again after an outage", async () => {
    const runtime = new ManualRuntime();
    const written: unknown[] = [];
    let isAway = true;
    const audit = {
      write: async (notes: readonly ReturnType<typeof auditNote>[]) => {
        if (isAway) throw new Error("away");
        written.push(...notes.map(({ action, address, outcome, detail }) => [action, address, outcome, detail.count]));
      },
    };
    const refusals = new CountedRefusals({ audit, runtime, log: pino({ level: "silent" }) });
    for (const address of ["10.0.0.1", "10.0.0.2", "10.0.0.1"]) refusals.note({ ...refused, address });
    await runtime.advance(60_000);
    isAway = false;
    refusals.note(refused);
    await runtime.advance(60_000);
    assert.deepEqual(written, [
      ["logIn", "10.0.0.1", "REFUSED", 3],
      ["logIn", "10.0.0.2", "REFUSED", 1],
    ]);
    await runtime.advance(600_000);
    assert.equal(written.length, 2);
  });

  it("of many addresses are counted together", async () => {
    const runtime = new ManualRuntime();
    const written: ReturnType<typeof auditNote>[] = [];
    const audit = { write: async (notes: readonly ReturnType<typeof auditNote>[]) => void written.push(...notes) };
    const refusals = new CountedRefusals({ audit, runtime, log: pino({ level: "silent" }) });
    for (let number = 0; number < 1_500; number++) refusals.note({ ...refused, address: `10.0.${number}` });
    await refusals.flush();
    assert.equal(written.length, 1_001);
    assert.deepEqual([written.at(-1)?.address, written.at(-1)?.detail], [null, { reason: "others", count: 500 }]);
  });
});
