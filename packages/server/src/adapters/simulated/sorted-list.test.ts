import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SortedList } from "./sorted-list.ts";

const byNumber = (a: number, b: number) => a - b;

describe("a sorted list", () => {
  it("is what a sorted array is, whatever is added and deleted", () => {
    const steps = fc.array(fc.record({ add: fc.boolean(), key: fc.nat(60) }), { maxLength: 300 });
    fc.assert(
      fc.property(steps, fc.nat(60), (told, from) => {
        const list = new SortedList<number>(byNumber);
        const model = new Set<number>();
        for (const { add, key } of told) {
          if (!add) assert.equal(list.delete(key), model.delete(key));
          else if (!model.has(key)) {
            list.add(key);
            model.add(key);
          }
        }
        assertSame(list, [...model], from);
      }),
    );
  });

  it("keeps its order over many buckets", () => {
    const list = new SortedList<number>(byNumber);
    const keys = Array.from({ length: 5_000 }, (_, i) => (i * 7_919) % 10_007);
    for (const key of keys) list.add(key);
    assertSame(list, keys, 5_003);
    for (const key of keys.slice(0, 4_000)) assert.ok(list.delete(key));
    assertSame(list, keys.slice(4_000), 5_003);
  });

  it("has no item twice", () => {
    const list = new SortedList<number>(byNumber);
    list.add(1);
    assert.throws(() => list.add(1), /once/);
  });
});

function assertSame(list: SortedList<number>, expected: readonly number[], from: number): void {
  const sorted = [...expected].sort(byNumber);
  const upTo = (limit: number) => (seen: number[]) => (key: number) => seen.push(key) < limit;
  const seen = (walk: (visit: (key: number) => boolean) => void, limit = Number.POSITIVE_INFINITY) => {
    const keys: number[] = [];
    walk(upTo(limit)(keys));
    return keys;
  };
  assert.equal(list.size, sorted.length);
  assert.deepEqual(
    seen((visit) => list.ascend(null, visit)),
    sorted,
  );
  assert.deepEqual(
    seen((visit) => list.descend(null, visit)),
    sorted.toReversed(),
  );
  assert.deepEqual(
    seen((visit) => list.ascend(from, visit), 3),
    sorted.filter((key) => key > from).slice(0, 3),
  );
  assert.deepEqual(
    seen((visit) => list.descend(from, visit), 3),
    sorted
      .filter((key) => key < from)
      .reverse()
      .slice(0, 3),
  );
}
