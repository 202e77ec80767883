import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StoreEvent } from "@mainspring/server/testing";
import { ratesHold } from "./quotas-hold.ts";

/** Submits of a tenant that may submit 0.5 jobs a second. */
function submits() {
  const checker = ratesHold(new Map([["acme", 0.5]]));
  return (tenant: string, jobs: number, at: number) => {
    const rows = Array.from({ length: jobs }, () => ({ job: { tenant } }));
    checker.saw?.({ kind: "SUBMITTED", at, rows } as unknown as StoreEvent);
  };
}

describe("the checker of rates", () => {
  it("lets through the saved-up part and the rate, also where servers write late", () => {
    const submit = submits();
    submit("acme", 13, 0);
    for (let second = 2; second < 600; second += 2) submit("acme", 1, second * 1_000);
    submit("acme", 0, 600_000);
    submit("other", 1_000, 600_000);
  });

  it("sees a rate that servers exceed together", () => {
    const submit = submits();
    assert.throws(() => {
      for (let second = 0; second < 60; second++) submit("acme", 1, second * 1_000);
    }, /acme has more jobs than 0[.]5 a second/);
  });

  it("sees three times what may be saved up, in one moment", () => {
    assert.throws(() => submits()("acme", 15, 0), /acme has more jobs/);
  });
});
