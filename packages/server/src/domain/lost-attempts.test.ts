import assert from "node:assert/strict";
import { it } from "node:test";
import { lostAttempts, nextAttempt } from "./lost-attempts.ts";
import { derivedId } from "./occurrence-id.ts";

const SINCE = 1_795_000_000_000;
const idAt = (timeMs: number) => derivedId("a", "b", timeMs);

it("attempts count from 1 while a store has lost nothing", () => {
  assert.equal(lostAttempts(0, SINCE), null);
  assert.deepEqual([nextAttempt(idAt(SINCE), 0, null), nextAttempt(idAt(SINCE), 4, null)], [1, 5]);
});

it("attempts of an older execution skip the numbers of every lost state once", () => {
  const [first, second] = [lostAttempts(1, SINCE), lostAttempts(2, SINCE + 60_000)];
  const id = idAt(SINCE - 1);
  assert.deepEqual([nextAttempt(id, 2, first), nextAttempt(id, 100_001, first)], [100_001, 100_002]);
  assert.equal(nextAttempt(id, 100_002, second), 200_001);
});

it("attempts of a newer execution count from 1, unless its id may come from a clock that is ahead", () => {
  const lost = lostAttempts(3, SINCE);
  assert.deepEqual(
    [nextAttempt(idAt(SINCE + 10_000), 0, lost), nextAttempt(idAt(SINCE + 10_001), 0, lost)],
    [300_001, 1],
  );
});
