import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultPool, type Pool } from "../../domain/pool.ts";
import { settled } from "../../ports/manual-runtime.fixture.ts";
import { PoolReader } from "./pool-reader.ts";

describe("the settings of pools", () => {
  const scene = () => {
    /** Reads of the store in progress. */
    const reads: PromiseWithResolvers<Pool[]>[] = [];
    const told: string[] = [];
    const names = (pools: readonly Pool[]) => pools.map(({ name }) => name).join();
    const readPools = () => {
      const read = Promise.withResolvers<Pool[]>();
      reads.push(read);
      return read.promise;
    };
    const reader = new PoolReader({ readPools }, (pools) => told.push(names(pools)));
    const answer = async (index: number, name: string) => {
      reads[index]?.resolve([defaultPool(name)]);
      await settled();
    };
    return { reader, reads, told, answer, known: () => names(reader.known) };
  };

  it("do not go back when a read that began earlier ends later", async () => {
    const { reader, told, answer, known } = scene();
    const look = reader.begin();
    void reader.read();
    await answer(0, "later");
    look([defaultPool("earlier")]);
    assert.deepEqual([told, known()], [["later"], "later"]);
  });

  it("are fresh when a read has ended that began after the question: one for all who ask meanwhile", async () => {
    const { reader, reads, answer, known } = scene();
    const fresh: string[] = [];
    const ask = (name: string) => void reader.refresh().then(() => fresh.push(`${name} ${known()}`));
    ask("first");
    await settled();
    ask("second");
    ask("third");
    await settled();
    assert.equal(reads.length, 1, "the next read begins when this one has ended");
    await answer(0, "old");
    assert.deepEqual([fresh, reads.length], [["first old"], 2]);
    await answer(1, "new");
    assert.deepEqual(fresh, ["first old", "second new", "third new"]);
  });

  it("are read again for the next question where a read has failed", async () => {
    const { reader, reads, answer, known } = scene();
    const failed = assert.rejects(reader.refresh(), /the store is down/);
    await settled();
    const next = reader.refresh();
    reads[0]?.reject(new Error("the store is down"));
    await failed;
    await settled();
    await answer(1, "new");
    await next;
    assert.equal(known(), "new");
  });
});
