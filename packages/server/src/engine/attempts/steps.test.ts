import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DEFAULT_POLICY } from "../../domain/job.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { ReportedStep } from "../../ports/step-messages.ts";
import { candidate, changesOf, GATEWAY, only, ordersOf, START, Story } from "../testing/story.ts";

const AT_ONCE = { retry: { ...DEFAULT_POLICY.retry, backoff: "FIXED" as const, initialDelayMs: 0, jitter: false } };
const DATA = Buffer.from("1");

const assigned = (story = new Story()) => {
  const row = candidate({ policy: AT_ONCE });
  story.hint(row).worker("w1");
  return { story, row, assign: only(story.commit().assigns) };
};

const reported = ({ shard, executionId, attempt, workerId }: Assignment, step: Partial<ReportedStep> = {}) => ({
  ...{ shard, executionId, attempt, workerId, number: 1, name: "charge", step: "RESULT" as const, data: DATA },
  ...step,
});

const report = (story: Story, ...steps: ReportedStep[]) => story.gateway({ kind: "STEPS", steps });

const recordsOf = (story: Story) => {
  const batch = story.commit();
  const steps = [...batch.shards.values()].flatMap((draft) => [...draft.steps.values()]);
  const acks = batch.stepAcks.get(GATEWAY)?.get("w1") ?? [];
  return { batch, steps, acks };
};

describe("a record of a handler", () => {
  it("is written and acknowledged in one commit, which gives the execution its own row", () => {
    const { story, row, assign } = assigned();
    const { batch, steps, acks } = recordsOf(report(story.started(assign), reported(assign)));
    const record = {
      executionId: row.id,
      name: "charge",
      kind: "RESULT",
      attempt: 1,
      number: 1,
      at: START,
      data: DATA,
    };
    assert.deepEqual(steps, [record]);
    assert.deepEqual(acks, [{ shard: row.shard, executionId: row.id, attempt: 1, number: 1 }]);
    const change = only(changesOf(batch));
    assert.deepEqual([change.id, change.state, change.attempt], [row.id, "RUNNING", 1]);
  });

  it("writes the row again where it says RUNNING already, and only for the first record", () => {
    const { story, assign } = assigned();
    story.started(assign).later(5_000);
    assert.equal(only(changesOf(story.commit())).state, "RUNNING");
    report(story, reported(assign));
    assert.equal(only(changesOf(story.commit())).wasState, "RUNNING");
    report(story, reported(assign, { number: 2, name: "mail" }));
    const { batch, steps } = recordsOf(story);
    assert.deepEqual([changesOf(batch), steps.map(({ name }) => name)], [[], ["mail"]]);
  });

  it("comes with the next attempt, and with the one after that", () => {
    const { story, assign } = assigned();
    assert.equal("steps" in assign, false);
    report(story, reported(assign));
    story.commit();
    story.finish(assign, { state: "FAILED" });
    const second = only(story.commit().assigns);
    assert.deepEqual([second.attempt, second.steps], [2, null]);
    story.finish(second, { state: "FAILED" });
    assert.equal(only(story.commit().assigns).steps, null);
  });

  it("is refused where its attempt is not current", () => {
    const { story, assign } = assigned();
    story.finish(assign, { state: "FAILED" });
    const second = only(story.commit().assigns);
    const { batch, steps, acks } = recordsOf(report(story, reported(assign)));
    assert.deepEqual([steps, acks, changesOf(batch)], [[], [], []]);
    assert.deepEqual(only(ordersOf(batch)).kind, "REFUSED");
    assert.equal(recordsOf(report(story, reported(second))).steps.length, 1);
  });

  it("counts as the first of its name, or as the newest checkpoint, also within one commit", () => {
    const { story, assign } = assigned();
    const checkpoint = (number: number, text: string) =>
      reported(assign, { number, name: "", step: "CHECKPOINT", data: Buffer.from(text) });
    const repeated = reported(assign, { number: 9, data: Buffer.from("2") });
    report(story, reported(assign), repeated, checkpoint(3, "3"), checkpoint(5, "5"), checkpoint(4, "4"));
    const { steps, acks } = recordsOf(story);
    assert.deepEqual(
      steps.map(({ name, data }) => [name, String(data)]),
      [
        ["charge", "1"],
        ["", "5"],
      ],
    );
    assert.deepEqual(
      acks.map(({ number }) => number),
      [1, 9, 3, 5, 4],
    );
  });
});
