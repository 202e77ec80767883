import assert from "node:assert/strict";
import { it } from "node:test";
import { candidate, changesOf, START, Story } from "../testing/story.ts";

it("gives a burst of timers that is larger than its lane to workers batch by batch, and writes none of it back", () => {
  const dueAt = START + 1_000;
  const rows = Array.from({ length: 30 }, () => candidate({ dueAt }));
  const story = new Story({ laneEntries: 10, batchAssigns: 8 }).hint(...rows).worker("w1", { slots: 40 });
  story.later(1_000);
  assert.notEqual(story.wakeAt, dueAt - story.state.limits.leadMs, "the next batch is waited for, not the clock");
  const batches = Array.from({ length: 5 }, () => story.commit());
  assert.deepEqual(
    batches.map(({ assigns }) => assigns.length),
    [8, 8, 8, 6, 0],
  );
  assert.deepEqual(batches.flatMap(changesOf), []);
});
