import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Candidate } from "../../domain/execution.ts";
import type { Entry } from "../entry.ts";
import { Shares } from "../fair/shares.ts";
import { Heap } from "../heap.ts";
import { candidate, Story } from "../testing/story.ts";
import type { Group } from "../workers/workers.ts";
import { Gates } from "./gates.ts";
import { Lanes } from "./lanes.ts";

const WORKERS: Group = {
  name: "g",
  pool: "any",
  handlers: new Set(),
  capabilities: new Set(),
  members: 1,
  free: new Heap(),
  credits: 0,
  slots: 0,
};

function entryOf(row: Candidate): Entry {
  return { id: row.id, row, lane: null, laneNode: null } as unknown as Entry;
}

function left({ lanes, gates }: { lanes: Lanes; gates: Gates }) {
  return { pools: lanes.pools, lanes: [...lanes.all()].length, served: lanes.served().size, gates: gates.size };
}

const NOTHING = { pools: 0, lanes: 0, served: 0, gates: 0 };

describe("a pool without work", () => {
  it("leaves nothing behind, whether workers served it or not", () => {
    const gates = new Gates();
    const lanes = new Lanes(gates, new Shares());
    for (let n = 0; n < 100_000; n++) {
      const row = candidate({ id: `e${n}`, pool: `p${n}`, concurrencyKey: n % 3 === 0 ? `k${n}` : null });
      const entry = entryOf(row);
      const lane = lanes.of(row, () => (n % 2 === 0 ? [WORKERS] : []));
      lanes.add(entry, lane);
      if (n % 1_000 === 0) lanes.served();
      lanes.remove(entry);
      lanes.prune(lane);
    }
    assert.deepEqual(left({ lanes, gates }), NOTHING);
  });

  it("is forgotten when its executions have ended, and is served when it has work again", () => {
    const story = new Story();
    const pools = ["a", "b", "c"];
    for (const pool of pools) story.worker(`w-${pool}`, { pool, slots: 1 });
    for (let round = 0; round < 3; round++) {
      story.hint(...pools.map((pool) => candidate({ pool, concurrencyKey: pool })));
      const { assigns } = story.commit();
      assert.equal(assigns.length, pools.length);
      for (const assign of assigns) story.finish(assign);
      story.commit();
      assert.deepEqual(left(story.state), NOTHING);
    }
  });

  it("is kept while work of another handler waits there, and served in the order in which pools appeared", () => {
    const story = new Story({ batchAssigns: 1 }).hint(candidate({ pool: "a", handler: "unknown" }));
    for (const pool of ["b", "a"]) story.worker(`w-${pool}`, { pool, slots: 2 });
    story.hint(...["b", "a"].map((pool) => candidate({ pool })));
    assert.deepEqual([...story.state.lanes.served()], ["a", "b"]);
    for (let ended = 0; ended < 2; ended++) for (const assign of story.commit().assigns) story.finish(assign);
    story.commit();
    assert.deepEqual([story.state.lanes.pools, story.state.lanes.find(candidate({ pool: "b" }))], [1, null]);
  });
});
