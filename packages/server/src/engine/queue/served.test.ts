import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { candidate, Story } from "../testing/story.ts";

/** Pools whose work a step has examined. */
function looks(story: Story, act: () => void): string[] {
  const { lanes } = story.state;
  const seen: string[] = [];
  const classes = lanes.classes.bind(lanes);
  lanes.classes = (pool) => {
    seen.push(pool);
    return classes(pool);
  };
  act();
  lanes.classes = classes;
  return seen;
}

const poolsOf = (story: Story) =>
  story.commit().assigns.map(({ executionId }) => story.state.entries.get(executionId)?.row.pool);

describe("a step", () => {
  it("looks at no pool that no worker serves, however many have work", () => {
    const rows = Array.from({ length: 500 }, (_, n) => candidate({ pool: `p${n}` }));
    const story = new Story().hint(...rows).worker("w1", { pool: "p7", slots: 2 });
    assert.deepEqual(poolsOf(story), ["p7"]);
    const seen = looks(story, () => story.hint(candidate({ pool: "p7" })));
    assert.deepEqual(new Set(seen), new Set(["p7"]));
    assert.deepEqual(poolsOf(story), ["p7"]);
  });

  it("serves pools in the order in which they came, whenever their workers come", () => {
    const story = new Story({ batchAssigns: 1 }).hint(...["a", "b", "c"].map((pool) => candidate({ pool })));
    for (const pool of ["c", "a", "b"]) story.worker(`w-${pool}`, { pool, slots: 1 });
    assert.deepEqual([...poolsOf(story), ...poolsOf(story), ...poolsOf(story)], ["c", "a", "b"]);
    const later = new Story({ batchAssigns: 8 });
    for (const pool of ["c", "a"]) later.worker(`w-${pool}`, { pool, slots: 4 });
    later.hint(...["a", "b", "c", "a"].map((pool) => candidate({ pool })));
    later.worker("w-b", { pool: "b", slots: 1 });
    assert.deepEqual([...poolsOf(later), ...poolsOf(later)].toSorted(), ["a", "a", "b", "c"]);
  });

  it("serves work of another handler that comes to a pool which no worker served", () => {
    const story = new Story().worker("w1", { pool: "p", handlers: ["known"], slots: 2 });
    story.hint(candidate({ pool: "p", handler: "unknown" }), candidate({ pool: "q" }));
    assert.deepEqual(poolsOf(story), []);
    story.hint(candidate({ pool: "p", handler: "known" }));
    assert.deepEqual(poolsOf(story), ["p"]);
  });
});
