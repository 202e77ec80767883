import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DEFAULT_POLICY } from "../domain/job.ts";
import { deadLetterRefused } from "./attempts/dead-letter-refused.ts";
import type { Batch } from "./batch.ts";
import { candidate, changesOf, only, Story } from "./testing/story.ts";

const URL = "https://hooks.example/ends";
const policy = { ...DEFAULT_POLICY, onFinish: { url: URL } };
const deliveriesOf = (batch: Batch) => [...batch.shards.values()].flatMap(({ deliveries }) => deliveries ?? []);
const endsOf = (batch: Batch) => deliveriesOf(batch).map(({ url, event }) => [url, event.executionId, event.kind]);

describe("webhooks of a batch", () => {
  it("tell the end of an execution that asks for it, whether or not the node has events", () => {
    for (const events of [false, true]) {
      const row = candidate({ policy });
      const story = new Story();
      story.state.events = events;
      const assigning = story.hint(row).worker("w1").commit();
      assert.deepEqual(endsOf(assigning), []);
      const ended = story.finish(only(assigning.assigns)).commit();
      assert.deepEqual(endsOf(ended), [[URL, row.id, "JobCompleted"]]);
      const [{ deliveries, events: told } = assert.fail()] = ended.shards.values();
      assert.equal(deliveries?.[0]?.event.state, "SUCCEEDED");
      assert.equal(told === null, !events);
    }
  });

  it("tell no end of another execution, and none before the last attempt", () => {
    const story = new Story();
    const plain = only(story.hint(candidate()).worker("w1").commit().assigns);
    assert.deepEqual(endsOf(story.finish(plain).commit()), []);
    const other = new Story();
    const first = only(other.hint(candidate({ policy })).worker("w1").commit().assigns);
    const error = { name: "Oh", message: "no" };
    assert.deepEqual(endsOf(other.finish(first, { state: "FAILED", error }).commit()), []);
  });

  it("tell the end that is written in the place of one that the store refuses", () => {
    const row = candidate({ policy });
    const story = new Story();
    const assign = only(story.hint(row).worker("w1").commit().assigns);
    const batch = story.finish(assign).commit();
    const change = only(changesOf(batch));
    deadLetterRefused(story.state, batch, story.batch, [{ change, shard: row.shard, message: "no" }]);
    const next = story.commit();
    assert.deepEqual(endsOf(next), [[URL, row.id, "JobDeadLettered"]]);
    assert.equal(deliveriesOf(next)[0]?.event.reason, "RESULT_REFUSED");
    assert.notEqual(deliveriesOf(next)[0]?.id, deliveriesOf(batch)[0]?.id);
  });
});
