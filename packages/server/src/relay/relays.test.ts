import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RelayScene } from "./relay.fixture.ts";

/** Limit of which the part of one shard is two rows. */
const TWO_ROWS_EACH = 64 * 300;

describe("the relays of a node", () => {
  it("let the oldest rows go while a sink is down and they take too much space, and tell it of the gap", async () => {
    const scene = new RelayScene();
    scene.owned.set(1, 10);
    scene.sink.lost = Number.POSITIVE_INFINITY;
    const relays = scene.relays(TWO_ROWS_EACH);
    relays.start();
    await scene.runtime.advance(0);
    for (const seq of [1, 2, 3]) {
      scene.write(1, 10, seq);
      relays.wake();
      await scene.runtime.advance(60_000);
    }
    assert.deepEqual(scene.table.oldest(), new Map([[1, { epoch: 10, seq: 1 }]]));
    scene.sink.lost = 0;
    await scene.runtime.advance(11_000);
    assert.deepEqual(scene.sink.brought, ["1/10/1", "1/10/2", "1/10/3"]);
    assert.deepEqual(scene.sink.gaps, [
      { shard: 1, epoch: 10, seq: 1, events: [], droppedAfter: { epoch: 0, seq: 0 } },
    ]);
    const { eventRowsDropped, eventGaps, eventsDelivered, eventSinkLagSec } = relays.readings();
    assert.deepEqual(
      [eventRowsDropped, eventGaps, eventsDelivered, eventSinkLagSec],
      [1, new Map([["memory", 1]]), new Map([["memory", 2]]), new Map([["memory", 0]])],
    );
    await relays.stop();
    assert.equal(scene.sink.isClosed, true);
  });

  it("show how far behind a sink is", async () => {
    const scene = new RelayScene();
    scene.owned.set(1, 10);
    scene.sink.lost = Number.POSITIVE_INFINITY;
    scene.write(1, 10, 1);
    const relays = scene.relays(TWO_ROWS_EACH);
    relays.start();
    await scene.runtime.advance(90_000);
    assert.deepEqual(relays.readings().eventSinkLagSec, new Map([["memory", 90]]));
    await relays.stop();
  });
});
