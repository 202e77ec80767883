import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { chunked } from "./chunks.ts";

const limit = { count: 5, bytes: 100 };
const weights = fc.array(fc.record({ count: fc.nat({ max: 8 }), bytes: fc.nat({ max: 150 }) }));

it("keeps the order, and keeps to the limit wherever more than one item is put together", () => {
  fc.assert(
    fc.property(weights, (items) => {
      const packs = chunked(items, limit, (weight) => weight);
      assert.deepEqual(packs.flat(), items);
      for (const pack of packs.filter(({ length }) => length > 1)) {
        assert.ok(pack.reduce((sum, { count }) => sum + count, 0) <= limit.count);
        assert.ok(pack.reduce((sum, { bytes }) => sum + bytes, 0) <= limit.bytes);
      }
    }),
  );
});
