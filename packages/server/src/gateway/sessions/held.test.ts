import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HeldAttempts } from "./held.ts";

describe("what a worker holds", () => {
  it("counts what takes a slot, what runs, and what waits for an acknowledgement", () => {
    const held = new HeldAttempts();
    for (const n of [1, 2, 3]) held.add({ token: token(`e${n}`, 1), state: "ASSIGNED", startedAt: null });
    const [first, second] = [held.get("e1", 1), held.get("e2", 1)];
    assert.ok(first !== null && second !== null);
    held.start(first);
    held.start(second);
    held.finish(second, false, 0);
    held.start(second);
    assert.deepEqual([held.occupied, held.running, held.unacknowledged, held.size], [2, 1, 1, 3]);
    assert.equal(held.delete(token("e2", 1)), true);
    assert.equal(held.delete(token("e2", 1)), false);
    assert.deepEqual([held.occupied, held.running, held.unacknowledged, held.size], [2, 1, 0, 2]);
  });

  it("keeps attempts of one execution apart: an earlier one may wind down beside its successor", () => {
    const held = new HeldAttempts();
    for (const attempt of [1, 2, 3]) held.add({ token: token("e", attempt), state: "STARTED", startedAt: attempt });
    assert.equal(held.get("e", 4), null);
    assert.equal(held.delete(token("e", 4)), false);
    for (const attempt of [2, 3, 1]) {
      assert.equal(held.get("e", attempt)?.startedAt, attempt);
      assert.equal(held.delete(token("e", attempt)), true);
      assert.equal(held.get("e", attempt), null);
      assert.equal([...held].length, held.running);
    }
    assert.equal(held.size, 0);
  });

  it("counts the slots of handlers that outlive their attempts, until they end", () => {
    const held = new HeldAttempts();
    const [refused, forced] = [1, 2].map((n) => held.add({ token: token(`e${n}`, 1), state: "STARTED", startedAt: n }));
    assert.ok(refused !== undefined && forced !== undefined);
    held.settle(refused, true);
    held.finish(forced, true, 0);
    const counts = () => [held.occupied, held.running, held.stuck, held.waiting, held.unacknowledged, held.size];
    assert.deepEqual(counts(), [2, 0, 2, 0, 1, 1]);
    held.settle(forced, forced.stillRunning);
    assert.deepEqual(counts(), [2, 0, 2, 0, 0, 0]);
    held.end(refused);
    assert.deepEqual(counts(), [1, 0, 1, 0, 0, 0]);
    held.end(forced);
    assert.deepEqual(counts(), [0, 0, 0, 0, 0, 0]);
    assert.deepEqual([...held], []);
  });

  it("frees the slot of a handler that ends before its result is acknowledged", () => {
    const held = new HeldAttempts();
    const forced = held.add({ token: token("e", 1), state: "STARTED", startedAt: 1 });
    held.finish(forced, true, 0);
    held.end(forced);
    assert.deepEqual([held.occupied, held.stuck, held.unacknowledged], [0, 0, 1]);
  });
});

function token(executionId: string, attempt: number): { executionId: string; attempt: number; shard: number } {
  return { executionId, attempt, shard: 1 };
}
