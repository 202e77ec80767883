import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FairQueue, type Queued } from "./fair-queue.ts";

interface Item extends Queued {
  number: number;
}

const LIMITS = { jobs: 100, bytes: 1_000 };
const sizes = { jobs: fc.integer({ min: 1, max: 150 }), bytes: fc.integer({ min: 0, max: 1_200 }) };

/** Group of a queue that knows no tenants. */
function plainGroup(queue: Queued[]): Queued[] {
  let [jobs, bytes] = [0, 0];
  const end = queue.findIndex((item, index) => {
    jobs += item.jobs;
    bytes += item.bytes;
    return index > 0 && (jobs > LIMITS.jobs || bytes > LIMITS.bytes);
  });
  return queue.splice(0, end === -1 ? queue.length : end);
}

describe("the queue of submissions", () => {
  it("is a plain queue for one tenant alone", () => {
    const steps = fc.array(fc.oneof(fc.record(sizes), fc.constant("take" as const)), { maxLength: 200 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 1_000 }), (asked, weight) => {
        const queue = new FairQueue<Item>(() => weight);
        const plain: Item[] = [];
        for (const [number, step] of asked.entries()) {
          if (step === "take") {
            assert.deepEqual(queue.take(LIMITS), plainGroup(plain));
            continue;
          }
          const item = { tenant: "acme", number, ...step };
          queue.push(item);
          plain.push(item);
        }
        assert.equal(queue.isEmpty, plain.length === 0);
      }),
    );
  });

  it("loses nothing, and keeps the order of each tenant", () => {
    const step = fc.oneof(
      fc.record({ tenant: fc.constantFrom("acme", "bolt", "calm"), ...sizes }),
      fc.constant("take" as const),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (asked) => {
        const queue = new FairQueue<Item>((tenant) => (tenant === "acme" ? 300 : 50));
        const [pushed, taken] = [[] as Item[], [] as Item[]];
        for (const [number, step] of asked.entries()) {
          if (step === "take") {
            taken.push(...queue.take(LIMITS));
            continue;
          }
          pushed.push({ number, ...step });
          queue.push({ number, ...step });
        }
        while (!queue.isEmpty) {
          const group = queue.take(LIMITS);
          assert.ok(group.length > 0);
          taken.push(...group);
        }
        for (const name of ["acme", "bolt", "calm"]) {
          const numbers = (items: Item[]) => items.filter(({ tenant }) => tenant === name).map(({ number }) => number);
          assert.deepEqual(numbers(taken), numbers(pushed));
        }
      }),
    );
  });

  it("divides groups by weights, whatever the sizes of submissions are", () => {
    const queue = new FairQueue<Queued>((tenant) => (tenant === "heavy" ? 300 : 100));
    for (let n = 0; n < 600; n++) queue.push({ tenant: "heavy", jobs: 50, bytes: 0 });
    for (let n = 0; n < 10_000; n++) queue.push({ tenant: "light", jobs: 1, bytes: 0 });
    const taken = new Map<string, number>();
    for (let group = 0; group < 10; group++)
      for (const { tenant, jobs } of queue.take({ jobs: 2_000, bytes: 1 }))
        taken.set(tenant, (taken.get(tenant) ?? 0) + jobs);
    const [heavy = 0, light = 0] = [taken.get("heavy"), taken.get("light")];
    assert.ok(Math.abs(heavy / light - 3) < 0.1, `${heavy} to ${light}`);
  });

  it("goes on with the turn of a tenant in the next group", () => {
    const queue = new FairQueue<Queued>(() => 100);
    const push = (tenant: string, count: number) => {
      for (let n = 0; n < count; n++) queue.push({ tenant, jobs: 1, bytes: 0 });
    };
    push("acme", 100);
    push("bolt", 100);
    const names = (jobs: number) => new Set(queue.take({ jobs, bytes: 1 }).map(({ tenant }) => tenant));
    assert.deepEqual([...names(20)], ["acme"]);
    assert.deepEqual([...names(12)], ["acme"]);
    assert.deepEqual([...names(32)], ["bolt"]);
  });

  it("takes a submission of another tenant with the next group, behind any number of one tenant", () => {
    const queue = new FairQueue<Queued>(() => 100);
    for (let n = 0; n < 20_000; n++) queue.push({ tenant: "noisy", jobs: 1, bytes: 0 });
    queue.push({ tenant: "quiet", jobs: 1, bytes: 0 });
    const group = queue.take({ jobs: 2_000, bytes: 1 });
    assert.equal(group.filter(({ tenant }) => tenant === "quiet").length, 1);
    assert.equal(group.length, 2_000);
  });
});
