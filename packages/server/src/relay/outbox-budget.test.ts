import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OutboxBudget } from "./outbox-budget.ts";

const at = (seq: number) => ({ epoch: 1, seq });
const size = (shard: number, seq: number, bytes: number) => ({ shard, bytes, last: at(seq) });

describe("the budget of kept events", () => {
  const owned = new Map([
    [1, 5],
    [2, 5],
  ]);

  it("lets the rows go that were counted first, when they exceed the share of the node's shards", () => {
    const budget = new OutboxBudget(64 * 100);
    budget.follow(owned);
    assert.deepEqual(budget.count([size(1, 3, 80), size(2, 4, 80)], new Map()), new Map());
    assert.deepEqual(
      budget.after,
      new Map([
        [1, at(3)],
        [2, at(4)],
      ]),
    );
    assert.deepEqual(budget.count([size(1, 9, 60)], new Map()), new Map([[1, at(3)]]));
    // The rows went, and others were removed because every sink had them.
    assert.deepEqual(budget.count([size(2, 9, 110)], new Map([[1, at(3)]])), new Map([[2, at(4)]]));
    assert.deepEqual(
      budget.count(
        [],
        new Map([
          [1, at(9)],
          [2, at(9)],
        ]),
      ),
      new Map(),
    );
    assert.deepEqual(
      budget.after,
      new Map([
        [1, at(9)],
        [2, at(9)],
      ]),
    );
  });

  it("forgets shards that the node does not own any more, or owns anew", () => {
    const budget = new OutboxBudget(64 * 100);
    budget.follow(owned);
    budget.count([size(1, 3, 80), size(2, 4, 80)], new Map());
    budget.follow(
      new Map([
        [2, 6],
        [1, 5],
      ]),
    );
    assert.deepEqual(budget.after, new Map([[1, at(3)]]));
  });
});
