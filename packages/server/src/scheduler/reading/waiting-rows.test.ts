import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { IndexData } from "../../adapters/simulated/sim-index.ts";
import type { Candidate } from "../../domain/execution.ts";
import { ManualRuntime, settled } from "../../ports/manual-runtime.fixture.ts";
import { IndexUnavailable } from "../../ports/side-index.ts";
import { WaitingRows } from "./waiting-rows.ts";

type Row = Pick<Candidate, "id" | "shard" | "dueAt" | "queue">;

/** Rows in a store, a window beside it, and a machine that has nothing in memory unless a test says so. */
function scene() {
  const runtime = new ManualRuntime();
  const store = { rows: new Map<string, Row>(), sweeps: 0, loaded: [] as string[] };
  const data = new IndexData(() => runtime.now());
  const redis = { isAway: false };
  const index = data.index(async (run) => {
    if (redis.isAway) throw new IndexUnavailable("away");
    return run();
  });
  const inMemory = new Set<string>();
  const waiting = new WaitingRows({
    ...{ node: "node", runtime, window: index.window },
    knows: (id) => inMemory.has(id),
    store: {
      readWaiting: async (shards, dueUntil, limit) => {
        store.sweeps++;
        const isDue = (row: Row) => row.queue === "WAITING" && row.dueAt <= dueUntil && shards.includes(row.shard);
        const due = [...store.rows.values()].filter(isDue).sort((a, b) => a.dueAt - b.dueAt);
        return due.slice(0, limit) as Candidate[];
      },
      load: async (ids) => {
        store.loaded.push(...ids);
        return ids.flatMap((id) => store.rows.get(id) ?? []) as Candidate[];
      },
    },
  });
  const begunAt = runtime.now();
  /** Writes a row that is due so long after the begin. */
  const write = (id: string, dueInMs: number, isHinted = false, shard = 1) => {
    const row: Row = { id, shard, dueAt: begunAt + dueInMs, queue: "WAITING" };
    store.rows.set(id, row);
    if (isHinted) waiting.written([row]);
  };
  const read = async (shards = [1], limit = 100) =>
    (await waiting.read(shards, runtime.now() + 3_000, limit)).map(({ id }) => id);
  /** Reads once a second, as the hydrator does. */
  const reads = async (seconds: number) => {
    const found: string[] = [];
    for (let n = 0; n < seconds; n++) {
      for (const id of await read()) if (!found.includes(id)) found.push(id);
      await runtime.advance(1_000);
    }
    return found;
  };
  return { runtime, store, data, redis, inMemory, write, read, reads };
}

describe("reads of waiting rows with a window beside the store", () => {
  it("sweep the store once in half a minute, and bring each row three seconds before it is due", async () => {
    const { store, write, read, reads, runtime } = scene();
    write("near", 2_000);
    write("far", 20_000);
    write("beyond", 50_000);
    assert.deepEqual(await read(), ["near"]);
    store.rows.delete("near");
    await runtime.advance(16_000);
    assert.deepEqual(await read(), []);
    await runtime.advance(1_000);
    assert.deepEqual(await read(), ["far"]);
    assert.equal(store.sweeps, 1);
    assert.deepEqual(await reads(40), ["far", "beyond"], "nobody has it in memory");
    assert.equal(store.sweeps, 2);
  });

  it("bring rows that were written since the sweep, from the window", async () => {
    const { store, write, read, runtime } = scene();
    await read();
    write("written", 12_000, true);
    write("in memory by its hint", 2_000, true);
    await runtime.advance(9_500);
    assert.deepEqual(await read(), ["written"]);
    assert.deepEqual([store.sweeps, store.loaded], [1, ["written"]]);
  });

  it("ask for the row of no execution in memory, and forget entries whose rows have changed", async () => {
    const { store, write, read, runtime, inMemory } = scene();
    for (const id of ["known", "gone", "later", "over", "stays"]) write(id, 12_000);
    await read();
    inMemory.add("known");
    store.rows.delete("gone");
    write("later", 14_000, true);
    (store.rows.get("over") as Row).queue = "READY";
    await runtime.advance(9_500);
    assert.deepEqual(await read(), ["stays"]);
    assert.deepEqual(store.loaded.sort(), ["gone", "over", "stays"]);
    await settled();
    assert.deepEqual(await read(), ["stays"], "it comes again until it is in memory");
    assert.deepEqual(store.loaded.sort(), ["gone", "over", "stays", "stays"]);
    inMemory.add("stays");
    await runtime.advance(2_000);
    assert.deepEqual(await read(), ["later"]);
  });

  it("sweep the store at once where the window has lost its data, or is away, or other shards are asked for", async () => {
    const { store, data, redis, write, read, runtime } = scene();
    await read();
    write("lost", 12_000, true);
    data.flush();
    await runtime.advance(9_500);
    assert.deepEqual([await read(), store.sweeps], [["lost"], 2]);
    redis.isAway = true;
    write("away", 13_000, true);
    await settled();
    await runtime.advance(1_000);
    assert.deepEqual([await read(), await read(), store.sweeps], [["lost", "away"], ["lost", "away"], 4]);
    redis.isAway = false;
    assert.deepEqual([(await read()).length, (await read()).length, store.sweeps], [2, 2, 5]);
    write("other", 11_000, false, 2);
    assert.deepEqual((await read([1, 2])).sort(), ["away", "lost", "other"]);
  });

  it("find a row that nobody told of by the next sweep", async () => {
    const { write, read, reads } = scene();
    await read();
    write("unheard", 31_000);
    assert.deepEqual(await reads(32), ["unheard"]);
  });

  it("cover no more time than the rows of a sweep that was cut off", async () => {
    const { store, write, read, runtime } = scene();
    for (let n = 0; n < 10; n++) write(`row-${n}`, 4_000 + n * 1_000);
    assert.deepEqual(await read([1], 5), []);
    await runtime.advance(4_000);
    assert.deepEqual(await read([1], 5), ["row-0", "row-1", "row-2", "row-3"]);
    assert.equal(store.sweeps, 1);
    await runtime.advance(2_000);
    assert.deepEqual((await read([1], 9)).slice(0, 6), ["row-0", "row-1", "row-2", "row-3", "row-4", "row-5"]);
    assert.equal(store.sweeps, 2);
  });
});
