import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import { usePackagedZones } from "../../adapters/system/time-zone-data.ts";
import { DEFAULT_ORDERING } from "../../domain/rank.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import type { Submission, SubmitOutcome } from "../../ports/store.ts";
import { tenantOf } from "../../security/tenant.ts";
import { fixedRules } from "../../time-zones.ts";
import { storesWith } from "../api.fixture.ts";
import { ProblemError } from "../http/errors.ts";
import type { PoolOrderings } from "../pools/pool-orderings.ts";
import { JobIntake } from "./job-intake.ts";
import type { Submitter } from "./submitter.ts";

const ordering = { read: async () => () => DEFAULT_ORDERING } as unknown as PoolOrderings;
/** Submits a job to a store that answers like this. */
async function problemOf(outcome: SubmitOutcome, key: string | null) {
  const runtime = new ManualRuntime();
  const submitter = { submit: async () => outcome } as unknown as Submitter;
  const stores = storesWith({ getJob: async () => null, answered: async () => null });
  const intake = new JobIntake({
    submitter,
    orderings: ordering,
    stores,
    runtime,
    clock: { look: async () => undefined },
    zones: fixedRules(usePackagedZones()),
  });
  const idempotency = key === null ? null : { tenant: tenantOf(null), key, requestHash: "hash" };
  const taken = intake.take(tenantOf(null), [{ job: { target: { handler: "echo" } }, payload: null }], idempotency);
  const error = await taken.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ProblemError);
  return error.problem;
}

it("counts a delay from the store's time at the submit, though its clock was set since the last look", async () => {
  const runtime = new ManualRuntime();
  const clock = { now: runtime.now() };
  const scheduled: number[] = [];
  const submitter = {
    submit: async ({ jobs }: Submission) => {
      scheduled.push(...jobs.map(({ definition }) => definition.scheduledAt));
      return { kind: "ACCEPTED", replayed: false, jobs: [{ jobId: "j", executionId: "e", deduplicated: false }] };
    },
  } as unknown as Submitter;
  const setAt = clock.now - 3_600_000;
  const intake = new JobIntake({
    ...{ submitter, orderings: ordering, stores: storesWith({ getJob: async () => null, answered: async () => null }) },
    runtime: { ...systemRuntime(), now: () => clock.now },
    clock: { look: async () => void (clock.now = setAt) },
    zones: fixedRules(usePackagedZones()),
  });
  const job = { target: { handler: "echo" } };
  await intake.take(tenantOf(null), [{ job, payload: null }], null);
  assert.notEqual(scheduled[0], setAt, "nobody looks for a job that is due at once");
  await intake.take(tenantOf(null), [{ job: { ...job, delayMs: 3_000 }, payload: null }], null);
  assert.equal(scheduled[1], setAt + 3_000);
});

describe("a submit that the store does not take", () => {
  const refused: SubmitOutcome = { kind: "REFUSED", message: "invalid byte sequence" };

  it("is answered as invalid where the store refuses its data, with and without an Idempotency-Key", async () => {
    for (const key of [null, "k1"]) {
      const { type, status, detail } = await problemOf(refused, key);
      assert.deepEqual([type, status], ["/problems/invalid-request", 400]);
      assert.match(detail ?? "", /cannot be stored: invalid byte sequence/);
    }
  });

  it("is answered as a misuse of the Idempotency-Key only where the key has another request", async () => {
    const { type, status } = await problemOf({ kind: "KEY_REUSED" }, "k1");
    assert.deepEqual([type, status], ["/problems/idempotency-key-reused", 422]);
  });
});
