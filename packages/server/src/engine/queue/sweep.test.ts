import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Candidate } from "../../domain/execution.ts";
import { laneHash as laneHashOf } from "../../domain/lane.ts";
import { candidate, Story } from "../testing/story.ts";

describe("a sweep", () => {
  it("comes each second to a lane of a few, and more seldom to one of thousands", () => {
    const few = Array.from({ length: 20 }, () => candidate({ handler: "few" }));
    assert.deepEqual(secondsOfSweeps(few, 4), [1, 2, 3, 4]);
    const many = Array.from({ length: 3_000 }, () => candidate({ handler: "many" }));
    assert.deepEqual(secondsOfSweeps(many, 7), [1, 4, 7]);
  });

  it("reads known rows again at one rate, however many lanes there are", () => {
    const lanes = Array.from({ length: 40 }, (_, n) =>
      Array.from({ length: 100 }, () => candidate({ handler: `h${n}` })),
    );
    const rowsOf = new Map(lanes.map((rows) => [laneHashOf(rows[0] as Candidate), rows]));
    const story = new Story().hint(...lanes.flat());
    const seconds = 24;
    let again = 0;
    for (let second = 1; second <= seconds; second++) {
      story.later(1_000).tell({ kind: "SWEEP", laneHashes: [...rowsOf.keys()] });
      for (const want of story.wants.splice(0)) {
        if (want.kind !== "READY") continue;
        const rows = rowsOf.get(want.laneHash) ?? [];
        again += rows.length;
        story.tell({ kind: "READ_READY", laneHash: want.laneHash, after: null, rows, full: false, since: 1, term: 1 });
      }
    }
    // Each lane in the first second, and every four seconds from then on.
    assert.equal(again, 40 * 100 * (1 + 5));
  });

  it("finds a missed row at the front of a full lane, and brings in nothing from behind it", () => {
    const room = 20;
    const rows = Array.from({ length: 200 }, (_, i) => candidate({ handler: "many", rank: 1_000 + i }));
    const missed = candidate({ handler: "many", rank: 1 });
    const laneHash = laneHashOf(missed);
    const story = new Story({ laneEntries: room }).hint(...rows);
    for (let sweep = 0; sweep < 10; sweep++) {
      story.wants.length = 0;
      story.later(60_000).tell({ kind: "SWEEP", laneHashes: [laneHash] });
      const want = story.wants.find(({ kind }) => kind === "READY");
      assert.ok(want?.kind === "READY");
      const read = [missed, ...rows].slice(0, want.limit);
      story.tell({ kind: "READ_READY", laneHash, after: null, rows: read, full: true, since: 1, term: 1 });
    }
    assert.ok(story.state.entries.has(missed.id));
    assert.equal(story.state.entries.size, room + 1);
  });

  it("comes next to a lane of thousands that had no room for urgent work", () => {
    const room = 10;
    const late = Array.from({ length: 1_500 }, (_, i) => candidate({ handler: "many", rank: 1_000 + i }));
    const urgent = (n: number) => candidate({ handler: "many", rank: n });
    const laneHash = laneHashOf(urgent(0));
    const story = new Story({ laneEntries: room }).hint(...late.slice(0, room));
    const isSwept = () => {
      story.wants.length = 0;
      story.later(1).tell({ kind: "SWEEP", laneHashes: [laneHash] });
      return story.wants.some(({ kind }) => kind === "READY");
    };
    const answer = (rows: Candidate[]) =>
      story.tell({ kind: "READ_READY", laneHash, after: null, rows, full: false, since: 1, term: 1 });
    assert.ok(isSwept());
    answer(late);
    assert.ok(!isSwept(), "it was looked at just now");
    story.hint(...Array.from({ length: 3 * room }, (_, n) => urgent(n)));
    assert.ok(isSwept(), "some of them are not known here");
  });
});

/** Seconds in which a sweep read the lane beyond its known rows. */
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
