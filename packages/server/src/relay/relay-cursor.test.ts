import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { rowOf } from "./relay.fixture.ts";
import { RelayCursor } from "./relay-cursor.ts";

const at = (epoch: number, seq: number) => ({ epoch, seq });

describe("the cursor of a relay", () => {
  it("follows the shards that the node owns, each from the position of its ownership", () => {
    const cursor = new RelayCursor();
    const owned = new Map([
      [1, 10],
      [2, 10],
    ]);
    assert.deepEqual(cursor.follow(owned), [1, 2]);
    // Shard 3 went elsewhere while its position was read.
    cursor.begin(
      owned,
      new Map([
        [1, at(9, 5)],
        [2, at(0, 0)],
        [3, at(9, 9)],
      ]),
    );
    assert.deepEqual([cursor.follow(owned), cursor.shards], [[], [1, 2]]);
    assert.deepEqual(cursor.follow(new Map([[1, 11]])), [1]);
    assert.deepEqual(cursor.shards, []);
  });

  it("moves behind delivered rows, and never back", () => {
    const cursor = new RelayCursor();
    cursor.begin(new Map([[1, 10]]), new Map([[1, at(9, 5)]]));
    assert.deepEqual(
      cursor.delivered([rowOf(1, 10, 1), rowOf(1, 10, 4), rowOf(2, 3, 3)]),
      new Map([
        [1, at(10, 4)],
        [2, at(3, 3)],
      ]),
    );
    assert.deepEqual(cursor.after, new Map([[1, at(10, 4)]]));
    cursor.delivered([rowOf(1, 9, 9)]);
    assert.deepEqual(cursor.after, new Map([[1, at(10, 4)]]));
  });

  it("tells of gaps only in shards whose rows the store removed too early", () => {
    const cursor = new RelayCursor();
    const owned = new Map([1, 2, 3].map((shard) => [shard, 10]));
    cursor.begin(
      owned,
      new Map([
        [1, at(9, 5)],
        [2, at(9, 5)],
        [3, at(9, 5)],
      ]),
    );
    const gaps = cursor.gaps(
      new Map([
        [1, at(9, 5)],
        [2, at(9, 8)],
      ]),
    );
    assert.deepEqual(gaps, [{ shard: 2, epoch: 9, seq: 8, events: [], droppedAfter: at(9, 5) }]);
    assert.deepEqual(cursor.delivered(gaps), new Map([[2, at(9, 8)]]));
    assert.deepEqual(cursor.gaps(new Map([[2, at(9, 8)]])), []);
  });
});
