import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { DEFAULT_POLICY } from "../domain/job.ts";
import type { Assignment } from "../ports/messages.ts";
import { candidate, changesOf, GATEWAY, only, ordersOf, START, Story } from "./testing/story.ts";

const DAY_MS = 86_400_000;
const policy = { timeoutMs: 5_000, cancelGraceMs: 2_000, retry: { ...DEFAULT_POLICY.retry, maxAttempts: 1 } };
/** A due time that has passed, however far the clock is set back. */
const LONG_DUE = START - 10 * DAY_MS;

/** Sets the store's clock. The machine learns of it with the first step by the new time. */
function leap(story: Story, byMs: number): Story {
  story.now += byMs;
  return story.tell({ kind: "LEAPT", byMs });
}

describe("a store's clock that was set", () => {
  for (const byMs of [DAY_MS, -DAY_MS]) {
    const way = byMs > 0 ? "forward" : "back";

    it(`times no attempt out before its time, and none after it: ${way}`, () => {
      const story = new Story().hint(candidate({ policy, dueAt: LONG_DUE })).worker("w1");
      const assign = only(story.commit().assigns);
      story.started(assign).later(1_000).commit();
      assert.deepEqual(ordersOf(leap(story, byMs).later(3_999).commit()), []);
      const order = only(ordersOf(story.later(1).commit()));
      assert.equal(order.kind === "CANCEL" && order.reason, "TIMED_OUT");
      leap(story, byMs);
      assert.deepEqual(changesOf(story.later(2_999).commit()), []);
      assert.equal(only(changesOf(story.later(1).commit())).ended[0]?.state, "TIMED_OUT");
    });

    it(`gives an attempt its own row one second after its start: ${way}`, () => {
      const story = new Story().hint(candidate({ dueAt: LONG_DUE })).worker("w1");
      story.started(only(story.commit().assigns));
      assert.deepEqual(changesOf(leap(story.later(500), byMs).later(499).commit()), []);
      assert.equal(only(changesOf(story.later(1).commit())).state, "RUNNING");
    });

    it(`gives an attempt that waits at its worker its own row 30 seconds after the assignment: ${way}`, () => {
      const story = new Story().hint(candidate({ dueAt: LONG_DUE })).worker("w1");
      const look = () => story.tell({ kind: "GATEWAYS", nodes: [GATEWAY] }).commit();
      story.commit();
      leap(story.later(15_000), byMs).later(14_999);
      assert.deepEqual(changesOf(look()), []);
      story.later(1);
      assert.equal(only(changesOf(look())).state, "RUNNING");
    });

    it(`leaves a lost worker its time to connect again, and no more: ${way}`, () => {
      const story = new Story().tell({ kind: "GATEWAYS", nodes: [GATEWAY] });
      story.hint(candidate({ dueAt: LONG_DUE })).worker("w1");
      story.started(only(story.commit().assigns));
      story.tell({ kind: "GATEWAYS", nodes: [] }).commit();
      assert.deepEqual(
        changesOf(leap(story.later(2_000), byMs).commit()).map(({ state }) => state),
        ["RUNNING"],
      );
      assert.deepEqual(changesOf(story.later(2_999).commit()), []);
      story.later(60_000);
      assert.deepEqual(only(changesOf(story.commit())).ended[0]?.state, "WORKER_LOST");
    });

    it(`gives up a silent gateway after the same time: ${way}`, () => {
      const story = new Story().hint(candidate({ dueAt: LONG_DUE })).worker("w1");
      story.commit();
      leap(story.later(1_000), byMs);
      for (let sec = 0; sec < 25; sec++) story.later(1_000);
      assert.ok(changesOf(story.commit()).every(({ ended }) => ended.length === 0));
      for (let sec = 0; sec < 15; sec++) story.later(1_000);
      assert.equal(only(changesOf(story.commit())).ended[0]?.state, "WORKER_LOST");
    });
  }

  it("leaves due times as they are: what is due by the new time begins", () => {
    const story = new Story().hint(candidate({ dueAt: START + 4_000 })).worker("w1");
    assert.deepEqual(story.commit().assigns, []);
    assert.equal(leap(story, 4_000).commit().assigns.length, 1);
  });
});

type Action = { kind: "later"; ms: number } | { kind: "hint" | "finish" | "start" | "lose" | "leap"; pick: number };

const actions = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("later" as const), ms: fc.integer({ min: 1, max: 4_000 }) }),
    fc.record({ kind: fc.constantFrom("hint", "finish", "start", "lose", "leap"), pick: fc.nat(1_000) }),
  ) as fc.Arbitrary<Action>,
  { minLength: 10, maxLength: 60 },
);

/** Runs the same actions, with leaps or without. @returns the effects of each action, without times */
function told(list: readonly Action[], hasLeaps: boolean): string[] {
  const story = new Story();
  const running: Assignment[] = [];
  const followed: string[] = [];
  for (const [index, action] of list.entries()) {
    if (action.kind === "later") story.later(action.ms);
    else if (action.kind === "hint")
      story.hint(candidate({ id: `e${index}`, dueAt: LONG_DUE, policy })).worker(`w${index}`);
    else if (action.kind === "leap") leap(story, hasLeaps ? (action.pick - 500) * 100_000 : 0);
    else if (action.kind === "lose") story.lose(`w${action.pick % list.length}`);
    else if (running.length > 0) {
      const assign = running[action.pick % running.length] as Assignment;
      if (action.kind === "start") story.started(assign);
      else story.finish(assign);
    }
    for (const { profile } of [...story.state.workers.all()]) story.credit(profile.workerId, 0);
    const batch = story.commit();
    running.push(...batch.assigns);
    const changes = changesOf(batch).map(({ id, state, ended }) => `${id} ${state} ${ended.map((one) => one.state)}`);
    const orders = ordersOf(batch).map((order) => `${order.kind} ${"token" in order ? order.token.executionId : ""}`);
    followed.push([...batch.assigns.map((one) => one.executionId), ...changes, ...orders].join(", "));
  }
  return followed;
}

it("changes nothing for what runs, whenever and however often it leaps", () => {
  fc.assert(fc.property(actions, (list) => assert.deepEqual(told(list, true), told(list, false))));
});
