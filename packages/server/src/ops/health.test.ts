import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { memoryBus } from "../adapters/memory/memory-bus.ts";
import { systemRuntime } from "../adapters/system/system-runtime.ts";
import { SHARD_COUNT } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { Runtime } from "../ports/runtime.ts";
import { StoreUnavailable } from "../ports/store.ts";
import { readiness } from "./health.ts";

function owns(bus: Bus, count: number): void {
  const shards = Array.from({ length: count }, (_, shard) => ({ shard, epoch: 1 }));
  bus.send({ node: bus.node, role: "api" }, { kind: "OWNER", term: 1, shards });
}

const answering = { clock: async () => 0 };

describe("readiness", () => {
  const runtime = systemRuntime();
  const ownedBus = () => {
    const bus = memoryBus("node-1");
    owns(bus, SHARD_COUNT);
    return bus;
  };

  it("is given while the store answers and every shard is owned", async () => {
    assert.equal((await readiness(answering, ownedBus(), runtime)).status, "ready");
  });

  it("says how many shards nobody owns", async () => {
    const bus = memoryBus("node-1");
    owns(bus, 2);
    const { status, checks } = await readiness(answering, bus, runtime);
    assert.equal(status, "unready");
    assert.deepEqual(checks[1], { name: "shards", ok: false, detail: "62 of 64 shards have no owner" });
  });

  it("ends when the store fails, without telling the public why", async () => {
    const failing = { clock: () => Promise.reject(new StoreUnavailable("postgres://me:secret@db")) };
    const { status, checks } = await readiness(failing, ownedBus(), runtime);
    assert.equal(status, "unready");
    assert.equal(checks[0]?.detail, "the store cannot be reached");
  });

  it("ends when the store is silent", async () => {
    const impatient: Runtime = { ...runtime, setTimer: (_delayMs, run) => (run(), { cancel: () => {} }) };
    const silent = { clock: () => new Promise<number>(() => {}) };
    const { checks } = await readiness(silent, ownedBus(), impatient);
    assert.match(checks[0]?.detail ?? "", /did not answer within 2000 ms/);
  });
});
