import assert from "node:assert/strict";
import { it } from "node:test";
import type { ShardId } from "../../domain/ids.ts";
import type { EventPosition } from "../store-events.ts";
import type { Scene } from "./store-scene.conformance.ts";

const START: EventPosition = new Map();
const RETENTION = { days: 30, deadDays: 90 };

/** Positions of sinks. @param write adds rows to a shard */
export function sinksConformance(scene: () => Scene, write: (shard: ShardId) => Promise<void>): void {
  const at = (epoch: number, seq: number) => ({ epoch, seq });
  const late = (ms: number, eventSinks: readonly string[]) =>
    scene().store.maintain(scene().runtime.now() + ms, { ...RETENTION, eventsMs: 3_600_000, eventSinks });

  it("keeps the positions of sinks, which only grow", async () => {
    const sinks = scene().store.eventSinks;
    assert.deepEqual(
      await sinks.sinkPositions("kafka", [2, 3]),
      new Map([
        [2, at(0, 0)],
        [3, at(0, 0)],
      ]),
    );
    await sinks.advanceSink(
      "kafka",
      new Map([
        [2, at(7, 3)],
        [9, at(7, 3)],
      ]),
    );
    await sinks.advanceSink("kafka", new Map([[2, at(7, 4)]]));
    await sinks.advanceSink("kafka", new Map([[2, at(6, 9)]]));
    await sinks.advanceSink("kafka", new Map([[2, at(7, 2)]]));
    await sinks.advanceSink("other", new Map([[2, at(9, 9)]]));
    assert.deepEqual(
      await sinks.sinkPositions("kafka", [2, 9]),
      new Map([
        [2, at(7, 4)],
        [9, at(0, 0)],
      ]),
    );
    assert.deepEqual(await sinks.sinkPositions("other", [2]), new Map([[2, at(0, 0)]]));
  });

  it("keeps events until every sink has them, and forgets a sink that no node names for a day", async () => {
    const { store } = scene();
    await write(5);
    await late(0, ["kafka", "other"]);
    await late(3_660_000, ["kafka", "other"]);
    const first = await store.events.read(START, 100, [5]);
    assert.ok(first !== null && first.length > 0);
    const newest = await store.events.newest();
    await store.eventSinks.advanceSink("kafka", newest);
    await late(3_660_000, ["kafka"]);
    assert.deepEqual(await store.events.read(START, 100, [5]), first);
    await late(24 * 3_600_000 + 3_660_001, ["kafka"]);
    assert.equal(await store.events.read(START, 100, [5]), null);
    assert.deepEqual(await store.events.read(START, 100, [6]), []);
    assert.deepEqual((await store.eventSinks.sinkPositions("other", [5])).get(5), newest.get(5));
  });

  it("reads the events of the asked shards only", async () => {
    await write(5);
    await write(6);
    const rows = await scene().store.events.read(START, 100, [6]);
    assert.deepEqual([...new Set(rows?.map(({ shard }) => shard))], [6]);
  });

  it("counts the bytes of events, and drops the oldest", async () => {
    const { eventSinks, events } = scene().store;
    await write(5);
    const [whole] = await eventSinks.eventBytes(START, [4, 5]);
    const middle = await events.newest();
    await write(5);
    const [more] = await eventSinks.eventBytes(middle, [5]);
    assert.ok(whole !== undefined && more !== undefined && whole.bytes > 0 && more.bytes > 0);
    assert.deepEqual(whole.last, middle.get(5));
    const before = await events.read(START, 100, [5]);
    const dropped = await eventSinks.dropEvents(new Map([[5, whole.last]]));
    assert.equal(await events.read(START, 100, [5]), null);
    const after = await events.read(middle, 100, [5]);
    assert.equal(dropped, (before?.length ?? 0) - (after?.length ?? 0));
    assert.deepEqual((await events.oldest()).get(5), whole.last);
    assert.deepEqual((await eventSinks.eventBytes(START, [5]))[0], more);
  });
}
