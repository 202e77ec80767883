import assert from "node:assert/strict";
import { it } from "node:test";
import type { NewJob, Submission } from "../store.ts";
import { accepted, acceptedJob, type Scene, TENANT } from "./store-scene.conformance.ts";

/** Payloads that a store might not accept as text. Handlers and clients send whatever JSON allows. */
const ODD_PAYLOADS = [
  "{}",
  "null",
  String.raw`{"nul":"\u0000","lone":"\ud800","big":1e400000}`,
  '"\u0000"',
  "[1,1.0,1e2]",
  '{"a":1,"a":2}',
];

export function submitConformance(scene: () => Scene): void {
  it("writes each job with its execution, and answers in the order of the submissions", async () => {
    const { store } = scene();
    const [a, b, c] = [scene().job(), scene().job(), scene().job()];
    // Ids need not come sorted.
    const outcomes = await store.submit([
      { idempotency: null, jobs: [c, a] },
      { idempotency: null, jobs: [b] },
    ]);
    assert.deepEqual(outcomes, [accepted(c, a), accepted(b)]);
    const rows = await store.load([a.executionId, b.executionId, c.executionId]);
    assert.deepEqual(rows.map((row) => row.jobId).sort(), [a.jobId, b.jobId, c.jobId].sort());
  });

  for (const other of [{ maxLifetimeMs: 60_000 }, { traceparent: `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01` }]) {
    it(`keeps a policy that is the default but for its ${Object.keys(other)}`, async () => {
      const { definition } = scene().job();
      const { executionId } = await scene().submitted({ policy: { ...definition.policy, ...other } });
      const [row] = await scene().store.load([executionId]);
      assert.deepEqual(row?.policy, { ...definition.policy, ...other });
    });
  }

  it("gives the owner all of a row that it works with", async () => {
    const createdAt = scene().runtime.now();
    const plain = await scene().submitted({ createdAt });
    const special = await scene().submitted({
      pool: "gpu",
      handler: 'render 🎬 {"quoted", \\}',
      requires: ["gpu", "region=eu"],
      priority: 9,
      scheduledAt: createdAt + 60_000,
      policy: { ...plain.definition.policy, timeoutMs: 1_234, startBefore: createdAt + 90_000, onWorkerLost: "DEAD" },
      concurrencyKey: "acme",
      concurrencyLimit: 3,
      uniqueKey: "only one",
      labels: { team: "films" },
      payload: Buffer.from("12345"),
    });
    const rows = await scene().store.load([plain.executionId, special.executionId]);
    for (const job of [plain, special]) {
      const { name: _, uniqueKey, labels: __, recurrence: ___, scheduledAt, ...definition } = job.definition;
      assert.deepEqual(
        rows.find((row) => row.id === job.executionId),
        {
          ...definition,
          id: job.executionId,
          jobId: job.jobId,
          shard: job.shard,
          tenant: TENANT,
          hasUniqueKey: uniqueKey !== null,
          rank: job.rank,
          dueAt: scheduledAt,
          scheduledAt,
          jobVersion: 1,
          payloadBytes: job.payload?.length ?? 0,
          state: "PENDING",
          queue: job.queue,
          attempt: 0,
          failures: 0,
          lost: 0,
          startedAt: null,
        },
      );
    }
  });

  it("keeps payloads to the byte and never parses them", async () => {
    const odd = [...ODD_PAYLOADS.map((text) => Buffer.from(text)), Buffer.from([0xff, 0x00, 0xfe]), Buffer.alloc(0)];
    const jobs = odd.map((payload) => scene().job({ payload }));
    const none = scene().job();
    await scene().store.submit([{ idempotency: null, jobs: [...jobs, none] }]);
    const read = await scene().store.payloads([...jobs, none].map((job) => job.executionId));
    for (const [i, job] of jobs.entries()) {
      const bytes = read.get(job.executionId) ?? Buffer.alloc(0);
      assert.deepEqual(Buffer.from(bytes), odd[i]);
    }
    assert.equal(read.has(none.executionId), false);
  });

  it("takes more jobs and bytes at once than go into one statement, still all or nothing", async () => {
    const payload = Buffer.alloc(256 * 1024, "x");
    const jobs = Array.from({ length: 40 }, () => scene().job({ payload }));
    const most = Math.min(scene().submissionMax, 5_040);
    const small = Array.from({ length: most - jobs.length }, () => scene().job());
    assert.deepEqual(await scene().store.submit([{ idempotency: null, jobs: [...jobs, ...small] }]), [
      accepted(...jobs, ...small),
    ]);
    assert.equal((await scene().store.load([...jobs, ...small].map((job) => job.executionId))).length, most);
    const read = await scene().store.payloads(jobs.map((job) => job.executionId));
    assert.equal(
      [...read.values()].every((bytes) => bytes.length === payload.length),
      true,
    );
    const broken = [...Array.from({ length: most >> 1 }, () => scene().job()), scene().job({ handler: "nul\u0000" })];
    await isRefused(broken);
    if (scene().submissionMax === most) await isRefused(Array.from({ length: most + 1 }, () => scene().job()));
  });

  it("refuses what it cannot hold without failing the others", async () => {
    const { store } = scene();
    const good = [scene().job(), scene().job(), scene().job()];
    const bad = [
      scene().job({ handler: "nul\u0000" }),
      scene().job({ scheduledAt: 1e300 }),
      scene().job({ priority: 0.5 }),
    ];
    const batch = [good[0], bad[0], good[1], bad[1], bad[2], good[2]].map((job) => only(job));
    const outcomes = await store.submit(batch);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.kind),
      ["ACCEPTED", "REFUSED", "ACCEPTED", "REFUSED", "REFUSED", "ACCEPTED"],
    );
    const rows = await store.load([...good, ...bad].map((job) => job.executionId));
    assert.deepEqual(rows.map((row) => row.id).sort(), good.map((job) => job.executionId).sort());
  });

  it("answers a repeated idempotency key as the first time, and writes nothing", async () => {
    const { store } = scene();
    const [first, again] = [scene().job(), scene().job()];
    assert.deepEqual(await store.submit([keyed("k1", "hash", first)]), [accepted(first)]);
    assert.deepEqual(await store.submit([keyed("k1", "hash", again)]), [{ ...accepted(first), replayed: true }]);
    assert.deepEqual(await store.load([again.executionId]), []);
  });

  it("tells how a submission with a key was answered, and takes no key for that", async () => {
    const { queries } = scene().store;
    const first = scene().job();
    const key = (requestHash: string) => ({ tenant: TENANT, key: "k1", requestHash });
    assert.equal(await queries.answered(key("hash")), null);
    assert.deepEqual(await scene().store.submit([keyed("k1", "hash", first)]), [accepted(first)]);
    assert.deepEqual(await queries.answered(key("hash")), { ...accepted(first), replayed: true });
    assert.deepEqual(await queries.answered(key("other hash")), { kind: "KEY_REUSED" });
  });

  it("refuses an idempotency key that was used with another request", async () => {
    const { store } = scene();
    const other = scene().job();
    await store.submit([keyed("k1", "hash", scene().job())]);
    assert.deepEqual(await store.submit([keyed("k1", "other hash", other)]), [{ kind: "KEY_REUSED" }]);
    assert.deepEqual(await store.load([other.executionId]), []);
  });

  it("tells repeats within one batch apart from the first", async () => {
    const [first, again, reused] = [scene().job(), scene().job(), scene().job()];
    const outcomes = await scene().store.submit([
      keyed("k1", "hash", first),
      keyed("k1", "hash", again),
      keyed("k1", "other", reused),
    ]);
    assert.deepEqual(outcomes, [accepted(first), { ...accepted(first), replayed: true }, { kind: "KEY_REUSED" }]);
  });

  it("lets one execution at a time hold a unique key, until the commit that releases it", async () => {
    const { store } = scene();
    const first = await scene().submitted({ uniqueKey: "u1" });
    const second = scene().job({ uniqueKey: "u1" });
    const deduplicated = { ...accepted(first), jobs: [acceptedJob(first, true)] };
    assert.deepEqual(await store.submit([only(second)]), [deduplicated]);
    assert.deepEqual(await store.load([second.executionId]), []);
    await scene().applied(first.shard, { changes: [scene().succeeded(first, { releaseUniqueKey: true })] });
    assert.deepEqual(await store.submit([only(second)]), [accepted(second)]);
  });

  it("deduplicates within a batch, and remembers that under the idempotency key", async () => {
    const { store } = scene();
    const [a, b, c] = [scene().job({ uniqueKey: "u1" }), scene().job({ uniqueKey: "u1" }), scene().job()];
    const answer = [acceptedJob(a), acceptedJob(a, true), acceptedJob(c)];
    const submission = keyed("k1", "hash", a, b, c);
    assert.deepEqual(await store.submit([submission]), [{ kind: "ACCEPTED", replayed: false, jobs: answer }]);
    assert.deepEqual(await store.submit([submission]), [{ kind: "ACCEPTED", replayed: true, jobs: answer }]);
  });

  it("leaves no key behind for a submission that it refused", async () => {
    const { store } = scene();
    const bad = scene().job({ uniqueKey: "u1", handler: "nul\u0000" });
    const good = scene().job({ uniqueKey: "u1" });
    const [refused, taken] = await store.submit([keyed("k1", "hash", bad), keyed("k2", "hash", good)]);
    assert.equal(refused?.kind, "REFUSED");
    assert.deepEqual(taken, accepted(good));
    const retried = scene().job();
    assert.deepEqual(await store.submit([keyed("k1", "hash", retried)]), [accepted(retried)]);
  });

  it("is not held up by keys that others take in the opposite order", async () => {
    const { store } = scene();
    const names = Array.from({ length: 50 }, (_, i) => `key ${i}`);
    for (let round = 0; round < 5; round++) {
      const batches = [names, [...names].reverse(), names, [...names].reverse()].map((order) =>
        order.map((name) => keyed(`${round} ${name}`, "hash", scene().job({ uniqueKey: `${round} ${name}` }))),
      );
      const answers = await Promise.all(batches.map((batch) => store.submit(batch)));
      for (const name of names) {
        const outcomes = batches.map((batch, i) => {
          const at = batch.findIndex((submission) => submission.idempotency?.key === `${round} ${name}`);
          return answers[i]?.[at];
        });
        const ids = outcomes.map((outcome) => (outcome?.kind === "ACCEPTED" ? outcome.jobs[0]?.executionId : outcome));
        assert.equal(new Set(ids).size, 1, "everybody is told the same execution");
        assert.equal(outcomes.filter((outcome) => outcome?.kind === "ACCEPTED" && !outcome.replayed).length, 1);
      }
    }
  });

  async function isRefused(jobs: NewJob[]): Promise<void> {
    const [outcome] = await scene().store.submit([{ idempotency: null, jobs }]);
    assert.equal(outcome?.kind, "REFUSED");
    assert.deepEqual(await scene().store.load(jobs.map((job) => job.executionId)), []);
  }

  function only(job: Submission["jobs"][number] | undefined): Submission {
    assert.ok(job);
    return { idempotency: null, jobs: [job] };
  }

  function keyed(key: string, requestHash: string, ...jobs: Submission["jobs"]): Submission {
    return { idempotency: { tenant: TENANT, key, requestHash }, jobs };
  }
}
