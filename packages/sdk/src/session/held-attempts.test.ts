import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type Token, TokenSchema } from "@mainspring/proto";
import fc from "fast-check";
import { finished } from "../../test/session-scene.ts";
import { HeldAttempts, type Taking } from "./held-attempts.ts";

describe("holdings", () => {
  it("take the next attempt in place of the one before, whose result nobody wants then", () => {
    const attempts = new HeldAttempts();
    assert.equal(take(attempts, "a", 1), "NEW");
    attempts.finish(finished("a"));
    assert.equal(take(attempts, "a", 2), "NEW");
    assert.deepEqual([attempts.size, attempts.unfinished], [1, 1]);
    assert.deepEqual([...attempts.results()], []);
    assert.equal(attempts.finish(finished("a", { attempt: 1 })), null);
  });

  it("remember some thousands that are done with, so that a late repeat starts nothing, and not all", () => {
    const attempts = new HeldAttempts();
    const settle = (id: string) => {
      take(attempts, id, 1);
      attempts.settle(token(id, 1));
    };
    settle("first");
    for (let i = 0; i < 4_096; i++) settle(`some-${i}`);
    assert.equal(take(attempts, "first", 1), "SETTLED");
    for (let i = 0; i < 8_192; i++) settle(`more-${i}`);
    assert.equal(take(attempts, "first", 1), "NEW");
  });

  it("tell a repeat of what is held from what is settled, and both from an Assign of an older epoch", () => {
    const attempts = new HeldAttempts();
    assert.equal(take(attempts, "a", 2, 5n), "NEW");
    assert.equal(take(attempts, "a", 2, 4n), "HELD");
    assert.equal(take(attempts, "a", 1, 5n), "SETTLED");
    assert.equal(take(attempts, "b", 1, 4n), "STALE");
    attempts.learn([{ $typeName: "mainspring.worker.v1.ShardEpoch", shard: 7, epoch: 9n }]);
    assert.equal(take(attempts, "b", 1, 8n), "STALE");
    assert.equal(take(attempts, "b", 1, 9n), "NEW");
    assert.equal(take(attempts, "c", 1, 0n), "NEW", "a gateway of the release before names no epoch");
  });

  it("keep the slot of an attempt that is over until its handler has ended, and say so once", () => {
    const attempts = new HeldAttempts();
    take(attempts, "refused", 1);
    attempts.settle(token("refused", 1));
    take(attempts, "forced", 1);
    attempts.finish(finished("forced", { stillRunning: true }));
    attempts.settle(token("forced", 1));
    take(attempts, "done", 1);
    attempts.finish(finished("done"));
    attempts.settle(token("done", 1));
    const over = () => attempts.list().filter((held) => held.over);
    assert.deepEqual(
      over().map(({ token }) => token?.executionId),
      ["refused", "forced"],
    );
    assert.equal(attempts.end({ executionId: "done", attempt: 1 }), null);
    for (const executionId of ["refused", "forced"]) {
      assert.equal(attempts.end({ executionId, attempt: 1 })?.executionId, executionId);
      assert.equal(attempts.end({ executionId, attempt: 1 }), null);
    }
    assert.deepEqual(over(), []);
  });

  it("agree with a plain count of what was assigned, finished and settled, in whatever order", () => {
    fc.assert(
      fc.property(fc.array(STEPS, { maxLength: 60 }), (steps) => {
        const [attempts, model] = [new HeldAttempts(), new Model()];
        for (const step of steps) {
          assert.deepEqual(perform(attempts, step), model.perform(step));
          assert.deepEqual(viewOf(attempts), model.view());
        }
      }),
      { numRuns: 500 },
    );
  });
});

type Step = { do: "take" | "start" | "finish" | "settle"; id: string; attempt: number };

const STEPS: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom("take", "start", "finish", "settle"),
  id: fc.constantFrom("a", "b", "c"),
  attempt: fc.integer({ min: 1, max: 3 }),
});

/** @returns whether the step had an effect; undefined for a settling, which returns nothing */
function perform(attempts: HeldAttempts, { do: what, id, attempt }: Step): boolean | undefined {
  switch (what) {
    case "take":
      return take(attempts, id, attempt) === "NEW";
    case "start":
      return attempts.start({ executionId: id, attempt }, 5) !== null;
    case "finish":
      return attempts.finish(finished(id, { attempt })) !== null;
    case "settle":
      return void attempts.settle(token(id, attempt));
  }
}

function viewOf(attempts: HeldAttempts): unknown {
  const listed = attempts.list().filter(({ over }) => !over);
  const held = listed.map(({ token, finished }) => [token?.executionId, token?.attempt, finished]);
  const results = Array.from(attempts.results(), (result) => `${result.token?.executionId}:${result.token?.attempt}`);
  return { held: held.sort(), results: results.sort(), size: attempts.size, unfinished: attempts.unfinished };
}

/** Slow model of the same class: every token that the worker ever took, and its outcome. */
class Model {
  readonly #fates = new Map<string, Map<number, "RUNS" | "FINISHED" | "GONE">>();

  perform({ do: what, id, attempt }: Step): boolean | undefined {
    const fates = this.#fates.get(id) ?? new Map<number, "RUNS" | "FINISHED" | "GONE">();
    this.#fates.set(id, fates);
    const fate = fates.get(attempt);
    if (what === "take") {
      if (Math.max(0, ...fates.keys()) >= attempt) return false;
      for (const older of fates.keys()) fates.set(older, "GONE");
      fates.set(attempt, "RUNS");
      return true;
    }
    if (what === "start") return fate === "RUNS" || fate === "FINISHED";
    if (what === "finish") {
      if (fate === "RUNS") fates.set(attempt, "FINISHED");
      return fate === "RUNS";
    }
    if (fate !== undefined) fates.set(attempt, "GONE");
    return undefined;
  }

  view(): unknown {
    const all = [...this.#fates].flatMap(([id, fates]) => [...fates].map(([attempt, fate]) => ({ id, attempt, fate })));
    const held = all.filter(({ fate }) => fate !== "GONE");
    const done = held.filter(({ fate }) => fate === "FINISHED");
    return {
      held: held.map(({ id, attempt, fate }) => [id, attempt, fate === "FINISHED"]).sort(),
      results: done.map(({ id, attempt }) => `${id}:${attempt}`).sort(),
      size: held.length,
      unfinished: held.length - done.length,
    };
  }
}

function take(attempts: HeldAttempts, id: string, attempt: number, epoch = 0n): Taking {
  return attempts.take({ epoch }, token(id, attempt));
}

function token(executionId: string, attempt: number): Token {
  return create(TokenSchema, { executionId, attempt, shard: 7 });
}
