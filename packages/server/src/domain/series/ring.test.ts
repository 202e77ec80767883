import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  kindOf,
  LABELS_MAX,
  labelOf,
  OTHER,
  POINTS,
  SECONDS_BUCKETS,
  SERIES_COLUMNS_MAX,
  SERIES_NAMES,
  type SeriesValue,
} from "./figures.ts";
import { SeriesRing } from "./ring.ts";

const retried = (value: number): SeriesValue => ({ name: "attempts_retried_total", label: "", value });
const oldest = (pool: string, value: number): SeriesValue => ({ name: "backlog_oldest_seconds", label: pool, value });

describe("the last hour of a node's series", () => {
  it("tells its points in order, and a point that the node did not sample as none", () => {
    const ring = new SeriesRing();
    ring.add(1_000, 2, [retried(1)]);
    ring.add(1_001, 2, []);
    ring.add(1_004, 3, [retried(4)]);
    const { from, nodes, columns } = ring.told(999, 1_006);
    assert.equal(from, 999);
    assert.deepEqual(nodes, [null, 2, 2, null, null, 3, null]);
    assert.deepEqual(columns, [
      { name: "attempts_retried_total", label: "", values: [null, 1, null, null, null, 4, null] },
    ]);
  });

  it("forgets what is older than an hour, and tells at most an hour", () => {
    const ring = new SeriesRing();
    for (let point = 0; point < POINTS + 5; point++) ring.add(point, 1, [retried(point + 1)]);
    const { from, nodes, columns } = ring.told(0, POINTS + 5);
    assert.deepEqual([from, nodes.length, nodes.includes(null)], [5, POINTS, false]);
    assert.deepEqual([columns[0]?.values[0], columns[0]?.values.at(-1)], [6, POINTS + 5]);
    ring.add(3 * POINTS, 1, []);
    assert.deepEqual(
      ring.told(2 * POINTS, 3 * POINTS).nodes.filter((count) => count !== null),
      [],
    );
    assert.deepEqual(ring.told(2 * POINTS, 3 * POINTS + 1).columns, []);
  });

  it("drops the points that lie in the future of a clock that has gone back", () => {
    const ring = new SeriesRing();
    for (const point of [10, 11, 12]) ring.add(point, 1, [retried(point)]);
    ring.add(11, 1, [retried(99)]);
    const { nodes, columns } = ring.told(10, 13);
    assert.deepEqual(nodes, [1, 1, null]);
    assert.deepEqual(columns[0]?.values, [10, 99, null]);
  });

  it("shares one column among the pools after the first twenty, until one of these has been idle for an hour", () => {
    const ring = new SeriesRing();
    const first = Array.from({ length: LABELS_MAX }, (_, number) => oldest(`pool-${number}`, 1));
    ring.add(0, 1, [...first, oldest("late", 40), oldest("later", 30)]);
    const labelled = (until: number) =>
      ring.told(until - 1, until).columns.map(({ label, values }) => [label, values[0]]);
    assert.deepEqual(labelled(1).slice(-1), [[OTHER, 40]], "the age of the oldest of them");
    ring.add(1, 1, [oldest("late", 1)]);
    assert.deepEqual(labelled(2), [[OTHER, 1]]);
    ring.add(POINTS, 1, [oldest("late", 7)]);
    assert.deepEqual(labelled(POINTS + 1), [["late", 7]]);
  });

  it("takes two and a half megabytes of memory at most, however many pools and handlers there are", () => {
    const ring = new SeriesRing();
    const labels = Array.from({ length: 100 }, (_, number) => `label-${number}`);
    ring.add(0, 1, everything(labels));
    const { columns } = ring.told(0, 1);
    assert.ok(columns.length < SERIES_COLUMNS_MAX, `${columns.length} columns`);
    assert.ok(ring.bytes <= 2.5 * 1024 * 1024, `${ring.bytes} bytes`);
  });
});

/** A value of every series, label and bucket. */
function everything(labels: readonly string[]): SeriesValue[] {
  return SERIES_NAMES.flatMap((name) => {
    const own = labelOf(name) === null ? [""] : labels;
    if (kindOf(name) !== "HISTOGRAM") return own.map((label) => ({ name, label, value: 1 }));
    const buckets = Array.from({ length: SECONDS_BUCKETS.length + 1 }, (_, bucket) => bucket);
    return own.flatMap((label) => buckets.map((bucket) => ({ name, label, bucket, value: 1 })));
  });
}
