import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type Token, TokenSchema } from "@mainspring/proto";
import fc from "fast-check";
import { finished } from "../test/session-scene.ts";
import { Holdings, type Taking } from "./holdings.ts";

describe("holdings", () => {
  it("take the next attempt in place of the one before, whose result nobody wants then", () => {
    const holdings = new Holdings();
    assert.equal(take(holdings, "a", 1), "NEW");
    holdings.finish(finished("a"));
    assert.equal(take(holdings, "a", 2), "NEW");
    assert.deepEqual([holdings.size, holdings.unfinished], [1, 1]);
    assert.deepEqual([...holdings.results()], []);
    assert.equal(holdings.finish(finished("a", { attempt: 1 })), null);
  });

  it("remember some thousands that are done with, so that a late repeat starts nothing, and not all", () => {
    const holdings = new Holdings();
    const settle = (id: string) => {
      take(holdings, id, 1);
      holdings.settle(token(id, 1));
    };
    settle("first");
    for (let i = 0; i < 4_096; i++) settle(`some-${i}`);
    assert.equal(take(holdings, "first", 1), "SETTLED");
    for (let i = 0; i < 8_192; i++) settle(`more-${i}`);
    assert.equal(take(holdings, "first", 1), "NEW");
  });

  it("tell a repeat of what is held from what is settled, and both from an Assign of an older epoch", () => {
    const holdings = new Holdings();
    assert.equal(take(holdings, "a", 2, 5n), "NEW");
    assert.equal(take(holdings, "a", 2, 4n), "HELD");
    assert.equal(take(holdings, "a", 1, 5n), "SETTLED");
    assert.equal(take(holdings, "b", 1, 4n), "STALE");
    holdings.learn([{ $typeName: "mainspring.worker.v1.ShardEpoch", shard: 7, epoch: 9n }]);
    assert.equal(take(holdings, "b", 1, 8n), "STALE");
    assert.equal(take(holdings, "b", 1, 9n), "NEW");
    assert.equal(take(holdings, "c", 1, 0n), "NEW", "a gateway of the release before names no epoch");
  });

  it("keep the slot of an attempt that is over until its handler has ended, and say so once", () => {
    const holdings = new Holdings();
    take(holdings, "refused", 1);
    holdings.settle(token("refused", 1));
    take(holdings, "forced", 1);
    holdings.finish(finished("forced", { stillRunning: true }));
    holdings.settle(token("forced", 1));
    take(holdings, "done", 1);
    holdings.finish(finished("done"));
    holdings.settle(token("done", 1));
    const over = () => holdings.list().filter((held) => held.over);
    assert.deepEqual(
      over().map(({ token }) => token?.executionId),
      ["refused", "forced"],
    );
    assert.equal(holdings.end({ executionId: "done", attempt: 1 }), null);
    for (const executionId of ["refused", "forced"]) {
      assert.equal(holdings.end({ executionId, attempt: 1 })?.executionId, executionId);
      assert.equal(holdings.end({ executionId, attempt: 1 }), null);
    }
    assert.deepEqual(over(), []);
  });

  it("agree with a plain count of what was assigned, finished and settled, in whatever order", () => {
    fc.assert(
      fc.property(fc.array(STEPS, { maxLength: 60 }), (steps) => {
        const [holdings, model] = [new Holdings(), new Model()];
        for (const step of steps) {
          assert.deepEqual(perform(holdings, step), model.perform(step));
          assert.deepEqual(viewOf(holdings), model.view());
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

/** @returns whether the step did anything; of settling that is not told */
function perform(holdings: Holdings, { do: what, id, attempt }: Step): boolean | undefined {
  switch (what) {
    case "take":
      return take(holdings, id, attempt) === "NEW";
    case "start":
      return holdings.start({ executionId: id, attempt }, 5) !== null;
    case "finish":
      return holdings.finish(finished(id, { attempt })) !== null;
    case "settle":
      return void holdings.settle(token(id, attempt));
  }
}

function viewOf(holdings: Holdings): unknown {
  const listed = holdings.list().filter(({ over }) => !over);
  const held = listed.map(({ token, finished }) => [token?.executionId, token?.attempt, finished]);
  const results = Array.from(holdings.results(), (result) => `${result.token?.executionId}:${result.token?.attempt}`);
  return { held: held.sort(), results: results.sort(), size: holdings.size, unfinished: holdings.unfinished };
}

/** The same, told slowly: every token that was ever taken, and what became of it. */
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

function take(holdings: Holdings, id: string, attempt: number, epoch = 0n): Taking {
  return holdings.take({ epoch }, token(id, attempt));
}

function token(executionId: string, attempt: number): Token {
  return create(TokenSchema, { executionId, attempt, shard: 7 });
}
