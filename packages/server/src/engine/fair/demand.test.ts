import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { candidate, Story } from "../testing/story.ts";

/** An owner of all shards but one, with five executions of a tenant that wait. */
function ownerWith(tenant: string): Story {
  const story = new Story().tell({ kind: "LOST", shards: [63] });
  story.hint(...Array.from({ length: 5 }, () => candidate({ tenant, shard: 0 })));
  story.state.shares.report(story.now);
  return story.worker("w", { slots: 1 }).later(50);
}

function sharesOf(story: Story): (number | undefined)[] {
  return story.told.splice(0).map(([demand]) => demand?.share);
}

describe("demand of an owner that knows of several tenants", () => {
  it("is told when the share of the tenant has changed by a tenth, up or down, and not more often than every 50 ms", () => {
    const story = ownerWith("a");
    assert.deepEqual(sharesOf(story), [0, 10]);
    story.later(50);
    assert.deepEqual(sharesOf(story), []);
    story.credit("w", 1);
    assert.deepEqual(sharesOf(story), [20]);
    story.later(49).credit("w", 1);
    assert.deepEqual(sharesOf(story), []);
    story.later(1);
    assert.deepEqual(sharesOf(story), [30]);
    story.later(50);
    const [assign] = story.commit().assigns;
    assert.ok(assign);
    story.tell(story.finished(assign));
    assert.deepEqual(sharesOf(story), [20]);
  });

  it("names the tenant whose turn it is, although another one has more urgent work", () => {
    const story = ownerWith("a");
    const urgent = candidate({ tenant: "a", shard: 0, priority: 9 });
    const other = candidate({ tenant: "b", shard: 0, priority: 0 });
    story.hint(urgent).later(50).hint(other).later(50);
    assert.deepEqual(story.told.at(-1), [{ pool: "default", rank: other.rank, share: 0 }]);
  });

  it("has no share while no owner knows of a second tenant", () => {
    const story = ownerWith("default").credit("w", 1).later(50);
    assert.deepEqual(sharesOf(story), [undefined]);
  });
});
