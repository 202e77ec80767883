import assert from "node:assert/strict";
import { it } from "node:test";
import { complaintsOf } from "./figures.ts";
import { fuzzMesh } from "./mesh.ts";
import { fuzzWorkers } from "./worker.ts";

for (const fuzz of [fuzzWorkers, fuzzMesh]) {
  it(`${fuzz.name} survives random inputs, and refuses some of them`, async () => {
    const figures = await fuzz(4_000, 1);
    assert.deepEqual(complaintsOf(figures), []);
    assert.equal(figures.inputs, 4_000);
    assert.ok(figures.refused > 100, `${figures.refused} refused`);
  });
}
