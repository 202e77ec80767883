import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import type { Assignment } from "../../ports/messages.ts";
import { candidate, Story } from "../testing/story.ts";

/** Fair order as it is meant, of a pool with one kind of work: all tenants are compared for each slot. */
class Oracle {
  readonly tenants = new Map<
    string,
    { weight: number; running: number; time: number; mean: number; ready: string[] }
  >();
  readonly charged = new Map<string, number>();
  time = 0;

  constructor(weights: ReadonlyMap<string, number>) {
    for (const [name, weight] of weights) {
      this.tenants.set(name, { weight, running: 0, time: 0, mean: 0, ready: [] });
    }
  }

  of(id: string) {
    const tenant = this.tenants.get(id.charAt(0));
    assert.ok(tenant);
    return tenant;
  }

  submit(id: string): void {
    const tenant = this.of(id);
    if (tenant.ready.length === 0) tenant.time = Math.max(tenant.time, this.time);
    tenant.ready.push(id);
  }

  next(): string | null {
    const waiting = [...this.tenants].filter(([, { ready }]) => ready.length > 0);
    waiting.sort(([a, x], [b, y]) => {
      return x.running * y.weight - y.running * x.weight || x.time - y.time || (a < b ? -1 : 1);
    });
    const tenant = waiting[0]?.[1];
    const id = tenant?.ready.shift();
    if (tenant === undefined || id === undefined) return null;
    tenant.running++;
    this.time = Math.max(this.time, tenant.time);
    this.charged.set(id, cost(tenant.mean, tenant.weight));
    tenant.time += cost(tenant.mean, tenant.weight);
    return id;
  }

  end(id: string, us: number): void {
    const tenant = this.of(id);
    tenant.running--;
    tenant.time += cost(us, tenant.weight) - (this.charged.get(id) ?? 0);
    tenant.mean = tenant.mean === 0 ? us : tenant.mean + Math.trunc((us - tenant.mean) / 8);
  }
}

function cost(us: number, weight: number): number {
  return Math.max(1, Math.floor((us * 100) / weight));
}

type Deed = { kind: "SUBMIT" | "END"; tenant: number; count: number; ms: number };

const deeds = fc.array(
  fc.record<Deed>({
    kind: fc.constantFrom("SUBMIT", "END"),
    tenant: fc.nat(4),
    count: fc.integer({ min: 1, max: 6 }),
    ms: fc.nat(3_000),
  }),
  { minLength: 1, maxLength: 60 },
);
const WEIGHTS = fc.array(fc.constantFrom(1, 50, 100, 300, 1_000), { minLength: 5, maxLength: 5 });

/** Runs the deeds on a machine and on the oracle, and compares who gets each slot. */
function compare(slots: number, weights: ReadonlyMap<string, number>, all: readonly Deed[]): void {
  const story = new Story().tell({ kind: "WEIGHTS", weights }).worker("w", { slots });
  const oracle = new Oracle(weights);
  // The pool has a permanent attempt, so that the machine does not forget it.
  story.hint(candidate({ id: "z", tenant: "z", handler: "nobody has it" }));
  const running: Assignment[] = [];
  let [number, free] = [0, slots];
  for (const { kind, tenant, count, ms } of all) {
    story.now += ms;
    story.credit("w", 0);
    if (kind === "SUBMIT") {
      const name = "abcde".charAt(tenant);
      const rows = Array.from({ length: count }, () => {
        const id = `${name}${String(++number).padStart(6, "0")}`;
        return candidate({ id, tenant: name, dueAt: story.now, queue: "READY" });
      });
      for (const { id } of rows) oracle.submit(id);
      story.hint(...rows);
    } else {
      const assign = running.splice(tenant % Math.max(1, running.length), 1)[0];
      if (assign === undefined) continue;
      oracle.end(assign.executionId, ms * 1_000);
      free++;
      story.finish(assign, { startedAt: story.now - ms });
    }
    const { assigns } = story.commit();
    const expected: string[] = [];
    for (let id = free > 0 ? oracle.next() : null; id !== null; id = free > 0 ? oracle.next() : null) {
      expected.push(id);
      free--;
    }
    assert.deepEqual(
      assigns.map(({ executionId }) => executionId),
      expected,
    );
    running.push(...assigns);
  }
}

it("the machine gives each slot to the tenant that the model of the fair order names", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), WEIGHTS, deeds, (slots, weights, all) => {
      compare(slots, new Map(weights.map((weight, n) => ["abcde".charAt(n), weight])), all);
    }),
    { numRuns: 300, seed: 45 },
  );
});

it("a single tenant's executions run in the order of their ranks", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ priority: fc.nat(9), handler: fc.nat(2), key: fc.nat(3) }), { maxLength: 40 }),
      fc.integer({ min: 1, max: 30 }),
      (works, slots) => {
        const rows = works.map(({ priority, handler, key }, n) =>
          candidate({
            id: String(n).padStart(3, "0"),
            priority,
            handler: `h${handler}`,
            concurrencyKey: key === 0 ? null : `k${key}`,
            concurrencyLimit: 99,
          }),
        );
        const story = new Story().hint(...rows).worker("w", { slots, handlers: ["h0", "h1", "h2"] });
        const ranks = story.assigned().map((id) => story.state.entries.get(id)?.row.rank);
        const sorted = rows.map(({ rank }) => rank).sort((a, b) => a - b);
        assert.deepEqual(ranks, sorted.slice(0, slots));
      },
    ),
    { numRuns: 200, seed: 46 },
  );
});
