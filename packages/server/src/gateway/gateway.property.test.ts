import { describe, it } from "node:test";
import fc from "fast-check";
import { type Happening, LossyWorld } from "./lossy-world.fixture.ts";

const pick = fc.nat(10_000);
const owner = fc.nat(2);
const event: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("DELIVER" as const), pick }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("ASSIGN" as const), owner, pick }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom("LOSE" as const, "REPEAT" as const), pick }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom("FINISH" as const, "VOID" as const), pick }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("TIME" as const, "RECONNECT" as const), pick }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("TERM" as const, "DEMAND" as const), owner, pick }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("CLAIM" as const), owner, pick }) },
);

describe("the slots of a worker between owners", () => {
  it("are each allocated once or taken, however messages are lost, repeated, delayed and reordered", () => {
    const size = fc.integer({ min: 1, max: 12 });
    const owners = fc.integer({ min: 1, max: 3 });
    fc.assert(
      fc.property(size, owners, fc.array(event, { maxLength: 200, size: "max" }), (capacity, count, events) => {
        const world = new LossyWorld(capacity, count);
        for (const next of events) world.happen(next);
        world.calmDown();
      }),
      { numRuns: 300 },
    );
  });
});
