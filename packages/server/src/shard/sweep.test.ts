import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Candidate } from "../domain/execution.ts";
import { laneHash as laneHashOf } from "../domain/lane.ts";
import { candidate, Story } from "./testing/story.ts";

describe("a sweep", () => {
  it("comes each second to a lane of a few, and more seldom to one of thousands", () => {
    const few = Array.from({ length: 20 }, () => candidate({ handler: "few" }));
    assert.deepEqual(secondsOfSweeps(few, 4), [1, 2, 3, 4]);
    const many = Array.from({ length: 3_000 }, () => candidate({ handler: "many" }));
    assert.deepEqual(secondsOfSweeps(many, 7), [1, 4, 7]);
  });
});

/** The seconds, of so many, in which the lane was looked at beyond what is known of it. */
function secondsOfSweeps(rows: Candidate[], seconds: number): number[] {
  const laneHash = laneHashOf(rows[0] as Candidate);
  const story = new Story().hint(...rows);
  const swept: number[] = [];
  for (let second = 1; second <= seconds; second++) {
    story.later(1_000).tell({ kind: "SWEEP", laneHashes: [laneHash] });
    for (const want of story.wants.splice(0)) {
      if (want.kind !== "READY" || want.limit <= rows.length) continue;
      swept.push(second);
      story.tell({ kind: "READ_READY", laneHash, after: null, rows, full: false, since: 1, term: 1 });
    }
  }
  return swept;
}
