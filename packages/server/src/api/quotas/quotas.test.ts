import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { countPlaces } from "../../adapters/simulated/rows/quota-table.ts";
import { submit } from "../../adapters/simulated/rows/submit.ts";
import { StoreData } from "../../adapters/simulated/store-data.ts";
import { DEFAULT_ORDERING } from "../../domain/rank.ts";
import { TENANT_DEFAULTS, type TenantSettings } from "../../domain/tenant.ts";
import { ManualRuntime, settled } from "../../ports/manual-runtime.fixture.ts";
import { StoreUnavailable, type Submission } from "../../ports/store.ts";
import type { StoreQuotas } from "../../ports/store-quotas.ts";
import { tenantOf } from "../../security/tenant.ts";
import { ProblemError } from "../http/errors.ts";
import { jobDefinition } from "../submit/job-definition.ts";
import { newJob } from "../submit/new-job.ts";
import type { QuotaProblem } from "./quota-problems.ts";
import { type Charge, type Load, Quotas } from "./quotas.ts";
import { chargeBatch, submitUnder } from "./submit-under.ts";

/** Nodes that share a store. */
function scene(limits: Partial<TenantSettings>, nodes = 1) {
  const runtime = new ManualRuntime();
  const data = new StoreData({ now: () => runtime.now() });
  const settings = { ...TENANT_DEFAULTS, ...limits };
  let asked = 0;
  let isAway = false;
  const call = async <T>(answer: () => T): Promise<T> => {
    asked++;
    if (isAway) throw new StoreUnavailable("gone");
    return answer();
  };
  const store: StoreQuotas = {
    takeTokens: (ask) => call(() => data.quotas.takeTokens(ask, data.now())),
    takePlaces: (ask) => call(() => data.quotas.takePlaces(ask, data)),
  };
  const tenants = { get: (name: string) => (name === "acme" ? settings : TENANT_DEFAULTS) };
  const quotas = Array.from({ length: nodes }, (_, n) => new Quotas({ store, node: `node ${n}`, runtime, tenants }));
  const job = (tenant = "acme", payload: Buffer | null = null) => {
    const definition = jobDefinition({ target: { handler: "echo" } }, 0);
    return newJob(tenantOf(tenant), definition, payload, DEFAULT_ORDERING, 0, runtime.uuid());
  };
  const write = (count: number) => submit(data, "node", [submissionOf(Array.from({ length: count }, () => job()))]);
  const setAway = (away: boolean) => {
    isAway = away;
  };
  const [first] = quotas as [Quotas, ...Quotas[]];
  return { runtime, data, settings, quotas, first, job, write, setAway, asked: () => asked };
}

const submissionOf = (jobs: Submission["jobs"], key: string | null = null): Submission => ({
  idempotency: key === null ? null : { tenant: "acme", key, requestHash: key },
  jobs,
});
const load = (jobs: number, more: Partial<Load> = {}): Load => ({
  ...{ jobs, waiting: jobs, recurring: 0, payloadBytes: 0, bodyBytes: 0, ...more },
});

/** @returns problem of a refused charge; null: it was charged */
async function refusalOf(
  charge: Promise<unknown>,
): Promise<(QuotaProblem & { retryAfter: string | undefined }) | null> {
  try {
    await charge;
    return null;
  } catch (error) {
    assert.ok(error instanceof ProblemError, String(error));
    return { ...(error.problem as QuotaProblem), retryAfter: error.headers["retry-after"] };
  }
}

describe("quotas of tenants", () => {
  it("are no matter for tenants without any, which never ask the store", async () => {
    const { first, asked } = scene({ submitsPerSec: 1, maxWaiting: 1 });
    for (let n = 0; n < 10; n++) (await first.charge("default", load(1_000))).end("WRITTEN");
    assert.equal(asked(), 0);
  });

  it("let a tenant submit as many jobs as its rate, say truly when the next one is taken, and ask little", async () => {
    const { first, runtime, asked } = scene({ submitsPerSec: 20 });
    let taken = 0;
    for (let n = 0; n < 200; n++) if ((await refusalOf(first.charge("acme", load(1)))) === null) taken++;
    assert.equal(taken, 200, "the bucket has ten seconds of the rate");
    const refused = await refusalOf(first.charge("acme", load(50)));
    assert.deepEqual([refused?.status, refused?.quota, refused?.limit, refused?.used], [429, "submitsPerSec", 20, 200]);
    assert.equal(refused?.retryAfter, "3");
    await runtime.advance(2_900);
    assert.ok(await refusalOf(first.charge("acme", load(60))));
    await runtime.advance(100);
    assert.equal(await refusalOf(first.charge("acme", load(50))), null);
    assert.ok(asked() < 40, `the store was asked ${asked()} times`);
  });

  it("never exceed a rate in sum, whatever nodes charge it", async () => {
    const step = fc.record({ node: fc.nat(2), jobs: fc.integer({ min: 1, max: 60 }), ms: fc.nat(700) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 100 }), async (steps) => {
        const { quotas, runtime } = scene({ submitsPerSec: 10 }, 3);
        const begun = runtime.now();
        let taken = 0;
        for (const { node, jobs, ms } of steps) {
          await runtime.advance(ms);
          if ((await refusalOf((quotas[node] as Quotas).charge("acme", load(jobs)))) === null) taken += jobs;
          const most = 100 + ((runtime.now() - begun) / 1_000) * 10;
          assert.ok(taken <= most, `${taken} jobs were taken where ${most} are allowed`);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("never let submits of any node exceed what may wait, and let one node fill all of it", async () => {
    const step = fc.oneof(
      fc.record({ node: fc.nat(2), jobs: fc.integer({ min: 1, max: 12 }), ms: fc.nat(900) }),
      fc.record({ write: fc.constantFrom("one", "all", "lost"), ms: fc.nat(900) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const { quotas, runtime, data, write } = scene({ maxWaiting: 30 }, 3);
        const underWay: { charge: Charge; jobs: number }[] = [];
        let late = 0;
        const finish = (isLost = false) => {
          const next = underWay.shift();
          if (next === undefined) return;
          next.charge.end(isLost ? "UNKNOWN" : "WRITTEN");
          if (!isLost) return void write(next.jobs);
          // The store did not answer in time, and has written the rows all the same.
          late += next.jobs;
          runtime.setTimer(10_000, () => {
            late -= next.jobs;
            write(next.jobs);
          });
        };
        for (const step of steps) {
          await runtime.advance(step.ms);
          if ("node" in step) {
            const charge = await (quotas[step.node] as Quotas).charge("acme", load(step.jobs)).catch(() => null);
            if (charge !== null) underWay.push({ charge, jobs: step.jobs });
          } else if ("write" in step) {
            for (let left = step.write === "all" ? underWay.length : 1; left > 0; left--) finish(step.write === "lost");
          }
          const planned = underWay.reduce((sum, { jobs }) => sum + jobs, late);
          const waits = countPlaces(data, "acme", "maxWaiting");
          assert.ok(waits + planned <= 30, `${waits} wait, and ${planned} are on the way`);
        }
        while (underWay.length > 0) finish();
        await runtime.advance(60_000);
        const waits = countPlaces(data, "acme", "maxWaiting");
        const [one] = quotas as [Quotas, ...Quotas[]];
        if (waits < 30) assert.equal(await refusalOf(one.charge("acme", load(30 - waits))), null);
        assert.equal((await refusalOf(one.charge("acme", load(1))))?.used, waits);
      }),
      { numRuns: 50 },
    );
  });

  it("keep the places of a submit of unknown outcome until its rows can no longer appear", async () => {
    const { quotas, runtime, write } = scene({ maxWaiting: 3 }, 2);
    const [first, second] = quotas as [Quotas, Quotas];
    (await first.charge("acme", load(3))).end("UNKNOWN");
    // The node tells the store once more which places it holds.
    await runtime.advance(2_000);
    assert.equal((await refusalOf(second.charge("acme", load(1))))?.quota, "maxWaiting");
    write(3);
    await runtime.advance(60_000);
    assert.equal((await refusalOf(second.charge("acme", load(1))))?.used, 3);
  });

  it("charge a batch whole or refuse it whole, and refuse for good one that never fits", async () => {
    const { first } = scene({
      maxWaiting: 10,
      submitsPerSec: 1,
      maxPayloadBytes: 5,
      maxBatchBytes: 100,
      maxRecurring: 2,
    });
    const never = await refusalOf(first.charge("acme", load(11)));
    assert.deepEqual([never?.status, never?.type, never?.used], [413, "/problems/quota-never-fits", 11]);
    assert.equal((await refusalOf(first.charge("acme", load(1, { payloadBytes: 6 }))))?.quota, "maxPayloadBytes");
    assert.equal((await refusalOf(first.charge("acme", load(1, { bodyBytes: 101 }))))?.quota, "maxBatchBytes");
    (await first.charge("acme", load(4))).end("WRITTEN");
    assert.equal((await refusalOf(first.charge("acme", load(7))))?.quota, "submitsPerSec");
    // Nothing of the refused batch was charged: the rate has six left, and all ten places are free.
    assert.equal(await refusalOf(first.charge("acme", load(6))), null);
    const { first: other } = scene({ maxRecurring: 2, submitsPerSec: 100 });
    assert.equal(await refusalOf(other.charge("acme", load(2, { waiting: 0, recurring: 2 }))), null);
    assert.equal((await refusalOf(other.charge("acme", load(1, { waiting: 0, recurring: 1 }))))?.quota, "maxRecurring");
  });

  it("give back what a refused or repeated submission has taken", async () => {
    const { first, runtime, settings } = scene({ submitsPerSec: 1 });
    (await first.charge("acme", load(10))).end("NOTHING");
    (await first.charge("acme", load(10))).end("WRITTEN");
    assert.ok(await refusalOf(first.charge("acme", load(1))));
    settings.submitsPerSec = null;
    assert.equal(await refusalOf(first.charge("acme", load(1_000))), null);
    settings.submitsPerSec = 1;
    await runtime.advance(1_000);
    assert.equal(await refusalOf(first.charge("acme", load(1))), null);
  });

  it("answer a repeat of an accepted request, over a quota or not", async () => {
    const { first, job, data } = scene({ maxWaiting: 1 });
    const ways = {
      quotas: first,
      answered: async (idempotency: NonNullable<Submission["idempotency"]>) =>
        data.idempotencyKeys.get(idempotency.tenant, idempotency.key) === undefined
          ? null
          : (submit(data, "node", [{ idempotency, jobs: [job()] }])[0] ?? null),
      submit: async (submission: Submission) => submit(data, "node", [submission])[0] ?? assert.fail(),
    };
    const once = await submitUnder(ways, "acme", submissionOf([job()], "key"));
    assert.ok(once.kind === "ACCEPTED" && !once.replayed);
    for (let n = 0; n < 3; n++) {
      const again = await submitUnder(ways, "acme", submissionOf([job()], "key"));
      assert.ok(again.kind === "ACCEPTED" && again.replayed);
      assert.deepEqual(again.jobs, once.jobs);
    }
    const refused = await refusalOf(submitUnder(ways, "acme", submissionOf([job()], "another")));
    assert.deepEqual([refused?.quota, refused?.limit, refused?.used], ["maxWaiting", 1, 1]);
  });

  it("cost a repeat within a quota nothing", async () => {
    const { first, job, data } = scene({ submitsPerSec: 1 });
    const answered = async () => null;
    const store = async (submission: Submission) => submit(data, "node", [submission])[0] ?? assert.fail();
    const ways = { quotas: first, answered, submit: store };
    for (let n = 0; n < 50; n++) {
      const outcome = await submitUnder(ways, "acme", submissionOf([job()], "key"));
      assert.ok(outcome.kind === "ACCEPTED" && outcome.replayed === n > 0);
    }
    assert.equal(await refusalOf(first.charge("acme", load(9))), null);
    assert.equal((await refusalOf(first.charge("acme", load(1))))?.quota, "submitsPerSec");
  });

  it("answer the repeats in a batch that is over a quota, and refuse the rest whole", async () => {
    const { first } = scene({ submitsPerSec: 1 });
    (await first.charge("acme", load(9))).end("WRITTEN");
    const part = (key: string | null) => ({ load: load(1), idempotency: submissionOf([], key).idempotency });
    const wasAnswered = async ({ key }: { key: string }) => key === "old";
    const parts = [part("old"), part("new"), part(null)];
    const charges = await chargeBatch(first, wasAnswered, "acme", parts);
    assert.deepEqual(
      charges.map((charge) => charge instanceof ProblemError),
      [false, true, true],
    );
    const fewer = await chargeBatch(first, wasAnswered, "acme", [part("old"), part("new")]);
    assert.deepEqual(
      fewer.map((charge) => charge instanceof ProblemError),
      [false, false],
    );
    assert.equal((await refusalOf(chargeBatch(first, wasAnswered, "acme", [part("new")])))?.status, 429);
  });

  it("use a portion for a second only", async () => {
    const { quotas, runtime } = scene({ maxWaiting: 100 }, 2);
    const [one, other] = quotas as [Quotas, Quotas];
    for (let n = 0; n < 3; n++) (await one.charge("acme", load(10))).end("NOTHING");
    await runtime.advance(40_000);
    assert.equal(await refusalOf(other.charge("acme", load(100))), null);
    assert.equal((await refusalOf(one.charge("acme", load(1))))?.quota, "maxWaiting");
  });

  it("take nothing while the store is away, and go on when it is back", async () => {
    const { first, setAway } = scene({ maxWaiting: 5 });
    setAway(true);
    await assert.rejects(first.charge("acme", load(1)), StoreUnavailable);
    setAway(false);
    assert.equal(await refusalOf(first.charge("acme", load(5))), null);
  });

  it("serve many waiting submits with one question, and refuse all of them at once", async () => {
    const { first, asked, runtime } = scene({ maxWaiting: 100 });
    const charges = Array.from({ length: 150 }, () => refusalOf(first.charge("acme", load(1))));
    await settled();
    const refusals = await Promise.all(charges);
    assert.equal(refusals.filter((refusal) => refusal === null).length, 100);
    assert.ok(asked() < 20, `the store was asked ${asked()} times`);
    const before = asked();
    for (let n = 0; n < 50; n++) assert.ok(await refusalOf(first.charge("acme", load(1))));
    assert.ok(asked() - before <= 1, "a refusal counts for a moment");
    await runtime.advance(200);
  });

  it("refuse a request of a tenant over its rate, with the second from which the next one is taken", async () => {
    const { first } = scene({ requestsPerSec: 1 });
    for (let n = 0; n < 10; n++) await first.chargeRequest("acme");
    const refused = await refusalOf(Promise.resolve(first.chargeRequest("acme")));
    assert.deepEqual([refused?.quota, refused?.retryAfter], ["requestsPerSec", "1"]);
    assert.equal(first.chargeRequest("default"), null);
  });
});
