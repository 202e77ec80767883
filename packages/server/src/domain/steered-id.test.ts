import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { uuidSource } from "../adapters/system/system-runtime.ts";
import { SHARD_COUNT, shardOf } from "./ids.ts";
import { steeredId } from "./steered-id.ts";

const COUNT = 300_000;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("a steered id", () => {
  let now = Date.UTC(2026, 10, 23);
  // Several ids share a millisecond, so that the counter tells them apart.
  const source = uuidSource(() => now);
  const ids = Array.from({ length: COUNT }, (_, n) => {
    now += n % 7 === 0 ? 1 : 0;
    return source();
  });
  const steered = ids.map((id, n) => steeredId(id, n % SHARD_COUNT));

  it("is in the wanted shard", () => {
    const wrong = steered.filter((id, n) => shardOf(id) !== n % SHARD_COUNT);
    assert.deepEqual(wrong.slice(0, 3), []);
  });

  it("is distinct from the other ids of its process, and greater than the earlier ones", () => {
    assert.equal(new Set(steered).size, COUNT);
    const falls = steered.filter((id, n) => n > 0 && id <= (steered[n - 1] as string));
    assert.deepEqual(falls.slice(0, 3), []);
  });

  it("is a UUIDv7 with the time and the counter of the id that it was made of", () => {
    for (const [n, id] of steered.entries()) {
      assert.match(id, UUID_V7);
      assert.equal(id.slice(0, 33), ids[n]?.slice(0, 33));
    }
  });

  it("has one of about 64 endings, as the random ending of the id decides", () => {
    const front = "019ab000-0000-7000-8000-000000000";
    const endings = Array.from({ length: 4_096 }, (_, n) => front + n.toString(16).padStart(3, "0"));
    for (const shard of [0, 17, 63]) {
      const reached = new Set(endings.map((id) => steeredId(id, shard)));
      assert.deepEqual(reached, new Set(endings.filter((id) => shardOf(id) === shard)));
    }
  });
});
