import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { type Logger, pino } from "pino";
import { type Leases, LeasesUnavailable, type NodeLease, type NodeProfile } from "../../ports/leases.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { RowsBeside } from "./rows-beside.ts";

const TTL_MS = 3_000;
let nowMs: number;
const runtime = { monotonicMs: () => nowMs } as Runtime;
beforeEach(() => {
  nowMs = 1_000_000;
});

/** A lease service in memory. */
class MemoryLeases implements Leases {
  readonly leases = new Map<string, NodeLease & { renewedMs: number }>();
  renewals = 0;
  isDown = false;

  async renew(profile: NodeProfile, ttlMs: number): Promise<NodeLease[]> {
    const { wasDraining: _, reaches = null, ...node } = profile;
    this.#ask();
    this.renewals++;
    const draining = this.leases.get(node.incarnation)?.draining ?? false;
    this.leases.set(node.incarnation, { ...node, reaches, draining, renewedAgoMs: 0, renewedMs: nowMs });
    return this.#all().filter(({ renewedAgoMs }) => renewedAgoMs <= ttlMs);
  }

  async release(node: string): Promise<void> {
    this.#ask();
    this.leases.delete(node);
  }

  async list() {
    this.#ask();
    return this.#all().map((lease) => ({ ...lease, isLiving: lease.renewedAgoMs <= TTL_MS }));
  }

  async drain(node: string, draining: boolean): Promise<boolean> {
    this.#ask();
    const lease = this.leases.get(node);
    if (lease !== undefined) lease.draining = draining;
    return lease !== undefined;
  }

  #ask(): void {
    if (this.isDown) throw new LeasesUnavailable("down");
  }

  #all(): NodeLease[] {
    return [...this.leases.values()].map(({ renewedMs, ...lease }) => ({ ...lease, renewedAgoMs: nowMs - renewedMs }));
  }
}

const named = (incarnation: string): NodeProfile => ({
  ...{ incarnation, name: incarnation, address: `${incarnation}:8081`, roles: ["scheduler"] },
  ...{ version: "1", level: 3, startedAt: 1 },
});
const namesOf = (nodes: readonly NodeLease[]) => nodes.map(({ incarnation }) => incarnation).sort();

describe("rows in the store beside leases in etcd", () => {
  let etcd: MemoryLeases;
  let store: MemoryLeases;
  let lines: string[];
  let log: Logger;
  beforeEach(() => {
    [etcd, store, lines] = [new MemoryLeases(), new MemoryLeases(), []];
    log = pino({ level: "warn" }, { write: (line) => void lines.push(line) });
  });
  const open = (other = etcd) => new RowsBeside({ etcd: other, store, runtime, log });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const renew = async (leases: Leases, name: string) => {
    const nodes = await leases.renew(named(name), TTL_MS);
    await settled();
    return namesOf(nodes);
  };

  it("are written once a second, and only after etcd has renewed the lease", async () => {
    const a = open();
    for (let n = 0; n < 10; n++) {
      assert.deepEqual(await renew(a, "a"), ["a"]);
      nowMs += 200;
    }
    assert.deepEqual([etcd.renewals, store.renewals], [10, 2]);
    etcd.isDown = true;
    nowMs += 5_000;
    await assert.rejects(renew(a, "a"), LeasesUnavailable);
    assert.equal(store.renewals, 2);
  });

  it("bring nodes together that keep their leases in the store, in this etcd and in another one", async () => {
    const [a, b] = [open(), open(new MemoryLeases())];
    await store.renew(named("s"), TTL_MS);
    assert.deepEqual(await renew(a, "a"), ["a", "s"]);
    assert.deepEqual(await renew(b, "b"), ["a", "b", "s"]);
    nowMs += 1_000;
    await store.renew(named("s"), TTL_MS);
    await renew(a, "a");
    assert.deepEqual(await renew(a, "a"), ["a", "b", "s"]);
    assert.deepEqual(
      namesOf(await store.renew(named("s"), TTL_MS)),
      ["a", "b", "s"],
      "programs that know no etcd, too",
    );
    assert.deepEqual(namesOf(await a.list()), ["a", "b", "s"]);
    assert.equal(lines.filter((line) => line.includes("keeps its lease elsewhere")).length, 4, lines.join(""));
  });

  it("end with the trust of a node, by the time that has passed since they were read", async () => {
    const a = open();
    await store.renew(named("s"), TTL_MS);
    await renew(a, "a");
    store.isDown = true;
    nowMs += TTL_MS - 100;
    const [, row] = await a.renew(named("a"), TTL_MS);
    assert.deepEqual([row?.incarnation, row?.renewedAgoMs], ["s", TTL_MS - 100]);
    nowMs += 200;
    assert.deepEqual(await renew(a, "a"), ["a"]);
    assert.equal(lines.filter((line) => line.includes("could not write its row")).length, 1);
  });

  it("do not keep a node alive that has given up its lease in etcd", async () => {
    const [a, b] = [open(), open()];
    await renew(b, "b");
    assert.deepEqual(await renew(a, "a"), ["a", "b"]);
    await etcd.release("b");
    assert.deepEqual(await renew(a, "a"), ["a"]);
    assert.deepEqual(namesOf(await a.list()), ["a"]);
    await b.release("b");
    assert.deepEqual([...store.leases.keys()], ["a"]);
  });

  it("tell nodes of another store from those of this one", async () => {
    const a = open();
    await etcd.renew(named("stranger"), 60_000);
    for (let n = 0; n < 4; n++) {
      assert.deepEqual(await renew(a, "a"), ["a", "stranger"], `after ${n} s the row may still come`);
      nowMs += 1_000;
      await etcd.renew(named("stranger"), 60_000);
    }
    await renew(a, "a");
    assert.deepEqual(await renew(a, "a"), ["a"]);
    assert.equal(lines.filter((line) => line.includes("has no row in this store")).length, 1);
    await store.renew(named("stranger"), 60_000);
    nowMs += 1_000;
    await renew(a, "a");
    assert.deepEqual(await renew(a, "a"), ["a", "stranger"]);
  });

  it("are needed before a node owns anything", async () => {
    store.isDown = true;
    const a = open();
    for (let n = 0; n < 3; n++) await assert.rejects(renew(a, "a"), LeasesUnavailable);
    store.isDown = false;
    assert.deepEqual(await renew(a, "a"), ["a"]);
  });

  it("carry the order to drain to nodes with other settings, and back", async () => {
    const a = open();
    const drains = async () => (await a.renew(named("a"), TTL_MS))[0]?.draining;
    await renew(a, "a");
    assert.equal(await a.drain("a", true), true);
    assert.equal(store.leases.get("a")?.draining, true);
    assert.equal(await drains(), true);
    assert.equal(await a.drain("a", false), true);
    nowMs += 1_000;
    await renew(a, "a");
    assert.equal(await drains(), false);
    await store.drain("a", true);
    nowMs += 1_000;
    await renew(a, "a");
    assert.equal(await drains(), true);
    assert.equal((await a.list())[0]?.draining, true);
    assert.equal(await a.drain("nobody", true), false);
  });
});
