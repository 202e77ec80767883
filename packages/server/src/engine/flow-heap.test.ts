import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { FlowHeap, type FlowNode } from "./flow-heap.ts";

it("lets flows with items that are due take turns, the earliest item of each first", () => {
  const heap = new FlowHeap<string>();
  const nodes = new Map<string, FlowNode<string>>();
  const push = (flow: string, at: number, item: string) => nodes.set(item, heap.push(flow, at, item, item));
  for (const [i, item] of ["a1", "a2", "a3", "a4"].entries()) push("a", i, item);
  push("b", 5, "b1");
  push("b", 4, "b0");
  push("c", 11, "c1");
  const taken: string[] = [];
  for (let item = heap.next(10); item !== null; item = heap.next(10)) {
    taken.push(item);
    heap.remove(nodes.get(item) as FlowNode<string>);
  }
  assert.deepEqual(taken, ["a1", "b0", "a2", "b1", "a3", "a4"]);
  assert.deepEqual([heap.size, heap.sizeOf("c"), heap.earliest()], [1, 1, 11]);
});

it("passes over a flow that is held, until it is resumed", () => {
  const heap = new FlowHeap<string>();
  const held = heap.push("a", 1, "a", "a");
  heap.push("b", 5, "b", "b");
  assert.equal(heap.next(2), "a");
  heap.hold(held);
  assert.deepEqual([heap.next(2), heap.earliest(), heap.next(5)], [null, 5, "b"]);
  heap.push("a", 0, "earlier", "earlier");
  assert.deepEqual([heap.next(2), heap.earliest()], [null, 5]);
  heap.resume();
  assert.deepEqual([heap.next(2), heap.earliest()], ["earlier", 0]);
});

it("gives every item that is due, and none before, whatever was moved and removed", () => {
  const command = fc.record({
    flow: fc.integer({ min: 0, max: 3 }).map(String),
    at: fc.integer({ min: 0, max: 20 }),
    what: fc.constantFrom("push", "push", "push", "remove", "rekey", "next", "hold", "resume"),
    which: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      const heap = new FlowHeap<number>();
      const model = new Map<number, { at: number; flow: string; node: FlowNode<number> }>();
      const held = new Set<string>();
      for (const [n, { what, flow, at, which }] of commands.entries()) {
        const [id, known] = [...model][which % Math.max(1, model.size)] ?? [];
        if (what === "push") model.set(n, { at, flow, node: heap.push(flow, at, String(n), n) });
        else if (what === "resume") {
          heap.resume();
          held.clear();
        } else if (id === undefined || known === undefined) continue;
        else if (what === "remove") {
          heap.remove(known.node);
          model.delete(id);
        } else if (what === "rekey") {
          heap.rekey(known.node, at);
          known.at = at;
        } else if (what === "hold") {
          heap.hold(known.node);
          held.add(known.flow);
        }
        // A flow that loses its last item is forgotten, and its hold with it.
        for (const name of held) if (![...model.values()].some((item) => item.flow === name)) held.delete(name);
        const open = [...model.values()].filter((item) => !held.has(item.flow));
        const due = open.filter((item) => item.at <= at);
        const next = heap.next(at);
        assert.equal(next === null, due.length === 0);
        if (next !== null) {
          const item = model.get(next) as { at: number; flow: string };
          assert.equal(item.at, Math.min(...due.filter((other) => other.flow === item.flow).map((other) => other.at)));
        }
        assert.equal(heap.earliest() ?? Number.POSITIVE_INFINITY, Math.min(...open.map((item) => item.at)));
        assert.equal(heap.size, model.size);
      }
    }),
    { seed: 20_261_123, numRuns: 500 },
  );
});
