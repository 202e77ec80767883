import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FairOwners } from "./fair-owners.fixture.ts";

const EVERYWHERE = [0, 1, 2];

/** Random numbers of an exponential distribution with this mean. */
function exponential(mean: number): () => number {
  let state = 7;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return -Math.log((state + 1) / 2 ** 32) * mean;
  };
}

function parts(owners: FairOwners, tenants: readonly string[]): string {
  return tenants.map((tenant) => `${tenant} ${owners.partOf(tenant).toFixed(3)}`).join(", ");
}

function near(actual: number, expected: number, within: number, message: string): void {
  assert.ok(Math.abs(actual - expected) <= within, message);
}

describe("the slots of a pool with several owners", () => {
  it("go to a tenant with work at one owner as much as to a tenant with work at all of them", () => {
    const acts = [
      { tenant: "noisy", runMs: exponential(1_000), at: EVERYWHERE },
      { tenant: "keyed", runMs: exponential(1_000), at: [0] },
    ];
    const owners = new FairOwners(3, 30, acts).run(10_000).measure().run(30_000);
    near(owners.partOf("keyed"), 0.5, 0.05, parts(owners, ["noisy", "keyed"]));
  });

  it("come to a quiet tenant soon, because gateways hear of demand that becomes less urgent", () => {
    const acts = [
      { tenant: "noisy", runMs: exponential(1_000), at: EVERYWHERE },
      { tenant: "quiet", runMs: exponential(200), at: EVERYWHERE, everyMs: exponential(500) },
    ];
    const owners = new FairOwners(3, 60, acts).run(5_000).measure().run(60_000);
    const p99 = owners.waitOf("quiet", 0.99);
    assert.ok(p99 < 200, `p99 ${p99} ms`);
  });

  for (const [weights, at, expected] of [
    [{}, [EVERYWHERE, [1], [2]], [1 / 3, 1 / 3, 1 / 3]],
    [{ b: 200, c: 400 }, [EVERYWHERE, EVERYWHERE, EVERYWHERE], [1 / 7, 2 / 7, 4 / 7]],
  ] as const) {
    it(`are divided as the weights ${JSON.stringify(weights)} say, with runs much shorter than the second between reports`, () => {
      const acts = ["a", "b", "c"].map((tenant, n) => ({ tenant, runMs: exponential(20), at: at[n] ?? [] }));
      const owners = new FairOwners(3, 21, acts, weights).run(5_000).measure().run(10_000);
      for (const [n, tenant] of ["a", "b", "c"].entries()) {
        near(owners.partOf(tenant), expected[n] ?? 0, 0.05, parts(owners, ["a", "b", "c"]));
      }
    });
  }

  it("come to a quiet tenant at once beside runs of a minute, where the pool has headroom", () => {
    const acts = [
      { tenant: "noisy", runMs: exponential(60_000), at: EVERYWHERE },
      { tenant: "quiet", runMs: () => 200, at: EVERYWHERE, everyMs: exponential(500) },
    ];
    const weights = { noisy: 100, quiet: 100 };
    const owners = new FairOwners(3, 60, acts, weights, { headroom: 10 }).run(60_000).measure().run(120_000);
    const [p50, p99] = [owners.waitOf("quiet", 0.5), owners.waitOf("quiet", 0.99)];
    assert.ok(p50 === 0 && p99 < 200, `p50 ${p50} ms, p99 ${p99} ms`);
  });

  it("come to a quiet tenant beside fifty others within the time in which the slots turn over", () => {
    const acts = Array.from({ length: 50 }, (_, n) => ({ tenant: `t${n}`, runMs: exponential(1_000), at: EVERYWHERE }));
    const quiet = { tenant: "quiet", runMs: exponential(200), at: EVERYWHERE, everyMs: exponential(500) };
    const owners = new FairOwners(3, 100, [...acts, quiet]).run(5_000).measure().run(30_000);
    const p99 = owners.waitOf("quiet", 0.99);
    assert.ok(p99 < 600, `p99 ${p99} ms`);
  });
});
