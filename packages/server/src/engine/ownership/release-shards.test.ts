import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { candidate, only, Story } from "../testing/story.ts";

const INCARNATION = "node-1";

describe("a shard that is released and taken over again", () => {
  const taken = (story: Story, shard: number, recovered: object) => {
    const nothing = { inFlight: [], journals: [], commands: [], ...recovered };
    const epochs = new Map([[shard, 3]]);
    story.tell({ kind: "LOST", shards: [shard] });
    return story.tell({ kind: "OWNED", term: 2, epochs, recovered: nothing, incarnation: INCARNATION });
  };

  it("has the permits of its concurrency keys back", () => {
    const key = { concurrencyKey: "acme", concurrencyLimit: 1 };
    const [current, next] = [candidate(key), candidate(key)];
    const story = new Story().hint(current, next).worker("w1", { slots: 2 });
    assert.equal(only(story.commit().assigns).executionId, current.id);
    // The attempt ended at another owner meanwhile, so nothing is in flight.
    taken(story, current.shard, {}).worker("w2").hint(next);
    assert.equal(only(story.commit().assigns).executionId, next.id);
    assert.equal(story.state.gates.size, 1);
  });

  it("rids the journal of the rows whose executions have all settled, and of no other row", () => {
    const row = candidate();
    const [settled, open] = [
      { shard: row.shard, ref: { epoch: 1, seq: 7 }, unsettled: 0 },
      { shard: row.shard, ref: { epoch: 2, seq: 7 }, unsettled: 1 },
    ];
    const assignment = { attempt: 1, workerId: "w1", gateway: "g1", assignedAt: 0, attemptStartedAt: null };
    const inFlight = [{ row, ...assignment, journal: open.ref }];
    const batch = taken(new Story(), row.shard, { inFlight, journals: [settled, open] }).commit();
    assert.deepEqual(batch.shards.get(row.shard)?.settledJournals, [settled.ref]);
  });
});
