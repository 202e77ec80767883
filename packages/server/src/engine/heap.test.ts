import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { Heap, type HeapNode } from "./heap.ts";

type Act = { act: "push" | "pop" | "remove" | "rekey"; key: number; pick: number };

it("is a sorted list with pushes, pops, removals and moves in any order", () => {
  const acts = fc.array(
    fc.record<Act>({
      act: fc.constantFrom("push", "push", "pop", "remove", "rekey"),
      key: fc.integer({ min: 0, max: 20 }),
      pick: fc.nat(),
    }),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(acts, (list) => {
      const heap = new Heap<number>();
      let model: HeapNode<number>[] = [];
      let made = 0;
      for (const { act, key, pick } of list) {
        const chosen = model[pick % Math.max(model.length, 1)];
        if (act === "push") model.push(heap.push(key, String(made).padStart(4, "0"), made++));
        else if (act === "pop") model = model.filter((node) => node !== heap.peek() || heap.pop() === undefined);
        else if (chosen !== undefined && act === "remove") {
          heap.remove(chosen);
          heap.remove(chosen);
          model = model.filter((node) => node !== chosen);
        } else if (chosen !== undefined) heap.rekey(chosen, key);
        model.sort((a, b) => a.key - b.key || (a.tie < b.tie ? -1 : 1));
        assert.equal(heap.peek(), model[0]);
        assert.equal(heap.size, model.length);
      }
      assert.deepEqual(
        model.map(() => heap.pop()),
        model,
      );
    }),
  );
});
