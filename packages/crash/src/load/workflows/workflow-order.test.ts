import assert from "node:assert/strict";
import { it } from "node:test";
import { SeededRandom } from "../../seeded-random.ts";
import { SHAPES } from "./shapes.ts";
import { randomWorkflow } from "./workflow-order.ts";

const COUNT = 200;

it("the workflows of a seed are the same each time, and come in all shapes", () => {
  const drawn = () => {
    const random = new SeededRandom(7);
    return Array.from({ length: COUNT }, (_, index) => randomWorkflow(`w-${index}`, random));
  };
  const orders = drawn();
  assert.deepEqual(
    drawn().map(({ request }) => request),
    orders.map(({ request }) => request),
  );
  assert.deepEqual(new Set(orders.map(({ shape }) => shape)), new Set(SHAPES.map(({ name }) => name)));
});

it("each node of a workflow comes after its parents, and its payload names the run and the node", () => {
  const random = new SeededRandom(7);
  for (let index = 0; index < COUNT; index++) {
    const { graph, request } = randomWorkflow("w", random);
    const known = new Set<string>();
    for (const [position, { name, dependsOn, branch, refersTo }] of graph.nodes.entries()) {
      for (const { node } of dependsOn) assert.ok(known.has(node), `${name} comes before ${node}`);
      for (const from of refersTo) assert.ok(known.has(from) || from === "$input", `${name} refers to ${from}`);
      assert.ok(!known.has(name));
      known.add(name);
      const payload = request.nodes[position]?.payload as { key: string; node: object };
      assert.deepEqual([payload.key, payload.node], [`w/${name}`, { run: "w", name, branch }]);
    }
  }
});
