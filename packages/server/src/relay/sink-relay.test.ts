import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SinkRefused, SinkUnavailable } from "../ports/event-sink.ts";
import { StoreUnavailable } from "../ports/store.ts";
import { MemorySink, RelayScene } from "./relay.fixture.ts";

const HOUR_MS = 3_600_000;

describe("the relay of a sink", () => {
  it("brings the rows of the node's shards, soon after a commit", async () => {
    const scene = new RelayScene();
    scene.owned.set(1, 10);
    scene.write(1, 9, 7);
    scene.write(2, 9, 1);
    const relay = scene.relay();
    relay.start();
    await scene.runtime.advance(0);
    assert.deepEqual(scene.sink.brought, ["1/9/7"]);
    await scene.runtime.advance(100);
    scene.write(1, 10, 1);
    relay.wake();
    await scene.runtime.advance(0);
    assert.deepEqual(scene.sink.brought, ["1/9/7", "1/10/1"]);
    scene.owned.set(2, 11);
    await scene.runtime.advance(1_020);
    assert.deepEqual(scene.sink.brought, ["1/9/7", "1/10/1", "2/9/1"]);
    assert.deepEqual(relay.load, { delivered: 3, gaps: 0, lagSec: 0 });
    await relay.stop();
    assert.equal(scene.sink.isClosed, true);
  });

  it("stores positions only of acknowledged rows, so the next owner repeats the others", async () => {
    const scene = new RelayScene();
    scene.owned.set(1, 10);
    scene.write(1, 10, 1);
    scene.sink.unanswered = 1;
    const relay = scene.relay();
    relay.start();
    await scene.runtime.advance(0);
    await relay.stop();
    const sink = new MemorySink();
    const next = scene.relay(sink);
    next.start();
    await scene.runtime.advance(0);
    assert.deepEqual([scene.sink.brought, sink.brought], [["1/10/1"], ["1/10/1"]]);
    await next.stop();
    const third = new MemorySink();
    const last = scene.relay(third);
    last.start();
    await scene.runtime.advance(5_000);
    assert.deepEqual(third.brought, []);
    await last.stop();
  });

  it("waits longer and longer while the sink or the store is down, and brings everything then", async () => {
    const scene = new RelayScene();
    scene.owned.set(1, 10);
    scene.write(1, 10, 1);
    scene.sink.openErrors = [new SinkUnavailable("down"), new SinkUnavailable("down")];
    scene.sink.lost = 1;
    scene.outages = [new StoreUnavailable("down")];
    const relay = scene.relay();
    relay.start();
    scene.write(1, 10, 2);
    for (let commit = 0; commit < 5; commit++) relay.wake();
    await scene.runtime.advance(0);
    await scene.runtime.advance(100 + 200 + 400 + 799);
    assert.deepEqual([scene.reads, scene.sink.brought], [2, []]);
    await scene.runtime.advance(1);
    assert.deepEqual(scene.sink.brought, ["1/10/1", "1/10/2"]);
    assert.equal(scene.sink.opened, 1);
    await relay.stop();
  });

  it("asks a sink that refuses once a minute", async () => {
    const scene = new RelayScene();
    scene.sink.openErrors = [new SinkRefused("no rights"), new SinkRefused("no rights")];
    const relay = scene.relay();
    relay.start();
    await scene.runtime.advance(0);
    await scene.runtime.advance(119_999);
    assert.equal(scene.sink.openErrors.length, 0);
    assert.equal(scene.sink.opened, 0);
    await scene.runtime.advance(1);
    assert.equal(scene.sink.opened, 1);
    await relay.stop();
  });

  it("leaves a shard with its ownership, also while a delivery is in flight", async () => {
    const scene = new RelayScene();
    scene.owned.set(1, 10);
    scene.write(1, 10, 1);
    scene.sink.during = () => {
      scene.owned.delete(1);
      scene.write(1, 11, 1);
    };
    const relay = scene.relay();
    relay.start();
    await scene.runtime.advance(5_000);
    assert.deepEqual(scene.sink.brought, ["1/10/1"]);
    await relay.stop();
  });

  it("tells the sink of rows that the store has removed", async () => {
    const scene = new RelayScene();
    scene.owned.set(1, 10);
    scene.table.sinkPositions("memory", [1], scene.runtime.now() - 2 * 24 * HOUR_MS);
    scene.write(1, 9, 3);
    scene.table.nameSinks([], scene.runtime.now() - 24 * HOUR_MS);
    const kept = scene.relay();
    kept.start();
    await scene.runtime.advance(0);
    await kept.stop();
    assert.deepEqual(scene.sink.gaps, []);
    scene.write(1, 10, 4);
    scene.write(1, 10, 5);
    scene.table.dropUpTo(new Map([[1, { epoch: 10, seq: 4 }]]));
    const relay = scene.relay();
    relay.start();
    await scene.runtime.advance(0);
    await scene.runtime.advance(20);
    assert.deepEqual(scene.sink.brought, ["1/9/3", "1/10/4", "1/10/5"]);
    assert.deepEqual(scene.sink.gaps, [
      { shard: 1, epoch: 10, seq: 4, events: [], droppedAfter: { epoch: 9, seq: 3 } },
    ]);
    assert.equal(relay.load.gaps, 1);
    await relay.stop();
  });
});
