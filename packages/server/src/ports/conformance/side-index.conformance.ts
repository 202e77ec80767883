import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { WorkerStatus } from "../messages.ts";
import type { SideIndex } from "../side-index.ts";

/** One index that several nodes use. */
export interface SideIndexScene {
  /** The index as one more node sees it. */
  index(): SideIndex;
  /** Lets at least this much time pass for the index. */
  pass(ms: number): Promise<void>;
  /** Makes the index forget everything. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export const status = (workerId: string, more: Partial<WorkerStatus> = {}): WorkerStatus => ({
  ...{ workerId, name: "name", pool: "default", handlers: ["a", "b"], capabilities: ["gpu"], slots: 3, prefetch: 2 },
  ...{ state: "ALIVE", running: 1, free: 2, stuck: 0, connectedAt: 1_000, lastHeartbeatAt: 2_000, loopLagMs: 4 },
  ...more,
});

/** Behaviour of every index beside the store. */
export function sideIndexConformance(name: string, open: () => Promise<SideIndexScene>): void {
  describe(`index beside the store: ${name}`, () => {
    let scene: SideIndexScene;
    beforeEach(async () => {
      scene = await open();
    });
    afterEach(() => scene.close());
    const none: ReadonlySet<string> = new Set();

    it("has the workers of each gateway as they were written last, and how long ago that was", async () => {
      const [a, b] = [scene.index(), scene.index()];
      await a.workers.write("gateway-a", [status("w1"), status("gone")]);
      await a.workers.write("gateway-a", [status("w1"), status("w2", { autoPrefetch: true, state: "DRAINING" })]);
      await scene.pass(30);
      await b.workers.write("gateway-b", []);
      const entries = await b.workers.read(none);
      const byGateway = new Map(entries.map((entry) => [entry.gateway, entry]));
      assert.deepEqual([...byGateway.keys()].sort(), ["gateway-a", "gateway-b"]);
      const { workers = [], ageMs = 0 } = byGateway.get("gateway-a") ?? {};
      assert.deepEqual(
        [...workers].sort((x, y) => (x.workerId < y.workerId ? -1 : 1)),
        [status("w1"), status("w2", { autoPrefetch: true, state: "DRAINING" })],
      );
      assert.deepEqual(byGateway.get("gateway-b")?.workers, []);
      assert.ok(ageMs >= 30 && ageMs < 60_000, String(ageMs));
    });

    it("leaves out gateways that the caller does not ask for, and those that have stopped", async () => {
      const { workers } = scene.index();
      for (const gateway of ["a", "b", "c"]) await workers.write(gateway, [status(gateway)]);
      await workers.forget("c");
      await workers.forget("never there");
      assert.deepEqual(
        (await workers.read(new Set(["a"]))).map(({ gateway }) => gateway),
        ["b"],
      );
    });

    it("has cancellations, the oldest first, until they are removed", async () => {
      const [a, b] = [scene.index(), scene.index()];
      const executionIds = (await b.cancels.read(null))?.cancels.map(({ executionId }) => executionId);
      assert.deepEqual(executionIds, []);
      assert.equal(await a.cancels.add("later", 20_000), true);
      assert.equal(await b.cancels.add("earlier", 10_000), true);
      assert.deepEqual((await a.cancels.read(null))?.cancels, [
        { executionId: "earlier", askedAt: 10_000 },
        { executionId: "later", askedAt: 20_000 },
      ]);
      await b.cancels.remove(["earlier", "never there"]);
      assert.deepEqual((await a.cancels.read(null))?.cancels, [{ executionId: "later", askedAt: 20_000 }]);
    });

    it("answers with nothing while cancellations stay as the caller knows them", async () => {
      const [a, b] = [scene.index(), scene.index()];
      await a.cancels.add("one", 1_000);
      const first = await b.cancels.read(null);
      assert.ok(first);
      assert.equal(await b.cancels.read(first.version), null);
      await a.cancels.add("one", 1_000);
      const renewed = await b.cancels.read(first.version);
      assert.equal(renewed?.cancels.length, 1);
      await a.cancels.remove(["one"]);
      assert.deepEqual((await b.cancels.read(renewed.version))?.cancels, []);
    });

    it("drops cancellations that are older than a day when another one is asked for", async () => {
      const { cancels } = scene.index();
      await cancels.add("old", 1_000);
      await cancels.add("new", 1_000 + 24 * 3_600_000 + 1);
      assert.deepEqual(
        (await cancels.read(null))?.cancels.map(({ executionId }) => executionId),
        ["new"],
      );
    });

    it("has what is due of some shards, the earliest of each first, until it is removed", async () => {
      const [a, b] = [scene.index().window, scene.index().window];
      const entry = (executionId: string, shard: number, dueAt: number) => ({ shard, executionId, dueAt });
      await a.add([entry("late", 1, 3_000), entry("early", 1, 1_000), entry("other", 2, 2_000), entry("far", 3, 500)]);
      await b.add([entry("late", 1, 2_500), entry("later", 2, 9_000)]);
      const found = async (limit = 10) =>
        (await b.due("node", [1, 2], 3_000, limit)).entries.map(({ executionId, dueAt }) => [executionId, dueAt]);
      const all = [
        ["early", 1_000],
        ["late", 2_500],
        ["other", 2_000],
      ];
      assert.deepEqual((await found()).sort(), all);
      assert.deepEqual((await found(1))[0], ["early", 1_000]);
      await b.remove([
        { shard: 1, executionId: "early" },
        { shard: 2, executionId: "never there" },
      ]);
      assert.deepEqual((await found()).sort(), all.slice(1));
    });

    it("has the mark of each node until it loses it with everything else", async () => {
      const { window } = scene.index();
      const marks = async () => [(await window.due("a", [1], 1, 1)).mark, (await window.due("b", [1], 1, 1)).mark];
      assert.deepEqual(await marks(), [null, null]);
      await window.mark("a", "first");
      await window.mark("a", "second");
      await window.mark("b", "other");
      await window.add([{ shard: 1, executionId: "one", dueAt: 1 }]);
      assert.deepEqual(await marks(), ["second", "other"]);
      await scene.flush();
      assert.deepEqual(await marks(), [null, null]);
      assert.deepEqual((await window.due("a", [1], 1, 1)).entries, []);
    });

    it("is empty and works on after it has lost everything", async () => {
      const { workers, cancels } = scene.index();
      await workers.write("a", [status("w")]);
      await cancels.add("one", 1_000);
      const known = await cancels.read(null);
      await scene.flush();
      assert.deepEqual(await workers.read(none), []);
      assert.deepEqual((await cancels.read(known?.version ?? null))?.cancels, []);
      await cancels.add("two", 2_000);
      await workers.write("a", [status("w")]);
      assert.equal((await cancels.read(null))?.cancels.length, 1);
      assert.equal((await workers.read(none)).length, 1);
    });
  });
}
