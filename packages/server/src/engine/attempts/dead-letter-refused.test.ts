import assert from "node:assert/strict";
import { it } from "node:test";
import { defaultPool } from "../../domain/pool.ts";
import { sealBatch } from "../machine.ts";
import { candidate, changesOf, only, Story } from "../testing/story.ts";
import { deadLetterRefused } from "./dead-letter-refused.ts";

it("buries what the store refuses, acknowledges it only then, and does not begin it again meanwhile", () => {
  const row = candidate();
  const story = new Story().hint(row).worker("w1");
  const assign = only(story.commit().assigns);
  const ended = story.finish(assign).commit();
  const change = only(changesOf(ended));
  deadLetterRefused(story.state, ended, story.batch, [{ change, shard: row.shard, message: "too odd" }]);
  assert.deepEqual(changesOf(ended), [], "it did not become true");
  assert.deepEqual(
    [...ended.acks.values()].flatMap((workers) => [...workers.values()].flat()),
    [],
  );
  // The refused batch was answered, so a read that begins now shows the row as it was before it.
  const mark = { since: story.batch.number, term: story.state.term };
  story.tell({ kind: "READ_WAITING", rows: [row], ...mark });
  const burial = story.commit();
  assert.deepEqual(burial.assigns, []);
  assert.deepEqual([only(changesOf(burial)).state, only(changesOf(burial)).reason], ["DEAD", "RESULT_REFUSED"]);
  assert.equal(only([...burial.acks.values()].flatMap((workers) => [...workers.values()].flat())).executionId, row.id);
});

it("tells whoever said it twice only then that the second time was too late: he would forget what nobody has", () => {
  const row = candidate();
  const story = new Story().hint(row).worker("w1");
  const assign = only(story.commit().assigns);
  const ended = story.finish(assign).finish(assign).commit();
  deadLetterRefused(story.state, ended, story.batch, [
    { change: only(changesOf(ended)), shard: row.shard, message: "too odd" },
  ]);
  const refusals = (mail: typeof ended.toGateway) => mail.filter(({ message }) => message.kind === "REFUSED");
  assert.deepEqual(refusals(ended.toGateway), []);
  assert.equal(refusals(story.commit().toGateway).length, 1);
});

it("gives the permit of what was refused back once it is dead-lettered, and not before", () => {
  const pool = { ...defaultPool("default"), maxRunning: 1 };
  const [row, next] = [candidate(), candidate()];
  const story = new Story()
    .tell({ kind: "POOLS", pools: [pool] })
    .hint(row, next)
    .worker("w1")
    .exchangePermits();
  const first = only(story.commit().assigns);
  const answered = story.finish(first).batch;
  story.batch = sealBatch(answered);
  deadLetterRefused(story.state, answered, story.batch, [
    { change: only(changesOf(answered)), shard: row.shard, message: "odd" },
  ]);
  story.tell({ kind: "FREED", freed: answered.freed }).exchangePermits();
  assert.deepEqual(story.commit().assigns, [], "nothing is written of the end of the first one");
  assert.equal(only(story.exchangePermits().commit().assigns).executionId, next.id);
});
