import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tenantOf } from "../../security/tenant.ts";
import { PoolNames } from "./pool-names.ts";

describe("the pools that jobs name", () => {
  it("are bounded: one more is refused with what would be right, and known ones are taken", () => {
    const names = new PoolNames(2, { monotonicMs: () => 0 });
    assert.deepEqual(
      [names.use(tenantOf(null), "a"), names.use(tenantOf(null), "b"), names.use(tenantOf(null), "a")],
      [null, null, null],
    );
    const refused = names.use(tenantOf(null), "c");
    assert.equal(refused?.type, "/problems/wrong-state");
    assert.match(refused?.detail ?? "", /^target.pool is one more than the 2 pools .* set MAINSPRING_POOLS_MAX$/);
  });

  it("are those that a tenant may use", () => {
    const names = new PoolNames(9, { monotonicMs: () => 0 }, (tenant, pool) => tenant === "acme" && pool === "a");
    assert.equal(names.use(tenantOf("acme"), "a"), null);
    assert.equal(names.use(tenantOf("acme"), "b")?.type, "/problems/pool-not-allowed");
  });

  it("are forgotten an hour after their last job, if their place is wanted", () => {
    let nowMs = 0;
    const names = new PoolNames(2, { monotonicMs: () => nowMs });
    for (const pool of ["a", "b"]) names.use(tenantOf(null), pool);
    nowMs = 3_000_000;
    names.use(tenantOf(null), "a");
    nowMs = 3_700_000;
    assert.deepEqual([names.use(tenantOf(null), "c"), names.use(tenantOf(null), "a")], [null, null]);
    assert.notEqual(names.use(tenantOf(null), "d"), null);
  });
});
