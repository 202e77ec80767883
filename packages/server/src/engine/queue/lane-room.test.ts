import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { candidate, Story } from "../testing/story.ts";
import { laneRoom } from "./lane-room.ts";

/** A machine with room for 1,000 executions and lanes of these tenants: one for each concurrency key. */
function lanesOf(tenants: Record<string, number>, fields: Partial<Story["state"]["limits"]> = {}) {
  const story = new Story({ laneEntries: 400, entries: 1_000, ...fields });
  for (const [tenant, lanes] of Object.entries(tenants)) {
    for (let n = 0; n < lanes; n++) story.hint(candidate({ tenant, concurrencyKey: `k${n}` }));
  }
  const room = (tenant: string) => {
    const lane = [...story.state.lanes.all()].find((one) => one.tenant === tenant);
    return lane === undefined ? null : laneRoom(story, lane);
  };
  return { story, room };
}

describe("the room of a lane in memory", () => {
  it("is a fixed number with a single tenant", () => {
    const { room, story } = lanesOf({ a: 50 });
    assert.deepEqual([room("a"), laneRoom(story, null)], [400, 400]);
  });

  it("is shared by tenants first, so the number of one's lanes takes nothing from another", () => {
    const { room, story } = lanesOf({ a: 20, b: 1, c: 1 });
    assert.deepEqual([room("a"), room("b"), room("c")], [16, 333, 333]);
    assert.equal(laneRoom(story, null), 43);
    assert.equal(lanesOf({ a: 1, b: 1 }).room("a"), 400, "never more than with a single tenant");
  });

  it("is a tenth or less when memory is full", () => {
    const { room } = lanesOf({ a: 60 }, { entries: 50, laneEntries: 4_000 });
    assert.equal(room("a"), 16);
    assert.equal(lanesOf({ a: 2 }, { entries: 2 }).room("a"), 16);
    assert.equal(lanesOf({ a: 2 }, { entries: 2, laneEntries: 100 }).room("a"), 10);
  });

  it("grows when a tenant's last lane is gone", () => {
    const { room, story } = lanesOf({ a: 10, b: 1 });
    assert.equal(room("a"), 50);
    story.tell({
      kind: "LOST",
      shards: [...story.state.entries.values()].filter(({ row }) => row.tenant === "b").map(({ row }) => row.shard),
    });
    assert.equal(story.state.lanes.tenants.get("b"), undefined);
  });

  it("is refilled of those lanes only that have lost executions", () => {
    const story = new Story({ laneEntries: 4 }).hint(...Array.from({ length: 6 }, () => candidate()));
    const [lane] = story.state.lanes.all();
    assert.ok(lane?.moreInStore);
    assert.deepEqual([...story.state.lanes.low()], []);
    story.worker("w", { slots: 3 });
    assert.deepEqual([...story.state.lanes.low()], [lane]);
    assert.deepEqual(story.wants.at(-1), { kind: "READY", laneHash: lane.hash, after: lane.tail, limit: 4 });
  });
});
