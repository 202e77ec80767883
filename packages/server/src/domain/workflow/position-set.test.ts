import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { PositionSet } from "./position-set.ts";

it("gives the smallest index, whatever was added and deleted", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(99), { maxLength: 200, size: "max" }), (positions) => {
      const set = new PositionSet(100);
      const model = new Set<number>();
      for (const position of positions) {
        if (model.delete(position)) set.delete(position);
        else {
          set.add(position);
          model.add(position);
        }
        assert.equal(set.size, model.size);
        if (model.size > 0) assert.equal(set.first(), Math.min(...model));
      }
    }),
    { seed: 20_261_124, numRuns: 100 },
  );
});
