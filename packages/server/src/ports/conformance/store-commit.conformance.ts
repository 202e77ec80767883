import assert from "node:assert/strict";
import { it } from "node:test";
import { ALL_SHARDS, applied, fenced, type Scene, TENANT, takeShards } from "./store-scene.conformance.ts";

export function commitConformance(scene: () => Scene): void {
  it("writes a row once, when its attempt ends, and the row is final then", async () => {
    const job = await scene().submitted({ payload: Buffer.from("1") });
    const error = { name: "Error\u0000", message: "lone \ud800", stack: "at …" };
    const ended = [{ attempt: 1, workerId: 'w"1\\', state: "FAILED" as const, startedAt: 5, finishedAt: 9, error }];
    await scene().applied(job.shard, {
      changes: [
        scene().succeeded(job, {
          state: "DEAD",
          failures: 1,
          reason: "BUDGET",
          startedAt: 5,
          finishedAt: 9,
          error,
          ended,
        }),
      ],
    });
    const view = await scene().store.queries.getExecution(TENANT, job.executionId);
    assert.equal(view?.state, "DEAD");
    assert.deepEqual([view.attempt, view.failures, view.lost, view.reason], [1, 1, 0, "BUDGET"]);
    assert.deepEqual([view.startedAt, view.finishedAt], [5, 9]);
    assert.deepEqual(view.error, error);
    assert.deepEqual(view.attempts, ended);
    assert.deepEqual(await scene().store.load([job.executionId]), []);
    assert.deepEqual(await scene().ready(job), []);
  });

  it("keeps results to the byte, and the history of all attempts", async () => {
    const job = await scene().submitted();
    const failed = scene().succeeded(job, { state: "PENDING", queue: "READY", failures: 1, finishedAt: null });
    await scene().applied(job.shard, { changes: [failed] });
    const result = Buffer.from(String.raw`{"nul":"\u0000","lone":"\ud800","big":1e400000}`);
    const second = { ...failed.ended[0], attempt: 2, startedAt: null } as (typeof failed.ended)[number];
    await scene().applied(job.shard, {
      changes: [scene().succeeded(job, { wasAttempt: 1, attempt: 2, failures: 1, result, ended: [second] })],
    });
    const view = await scene().store.queries.getExecution(TENANT, job.executionId);
    assert.deepEqual(Buffer.from(view?.result ?? []), result);
    assert.deepEqual(view?.attempts, [...failed.ended, second]);
  });

  it("puts a row that is to be tried again where it is found by its time or its rank", async () => {
    const job = await scene().submitted();
    const dueAt = scene().runtime.now() + 60_000;
    const back = { state: "PENDING", failures: 1, finishedAt: null } as const;
    await scene().applied(job.shard, {
      changes: [scene().succeeded(job, { ...back, queue: "WAITING", dueAt, rank: 7 })],
    });
    assert.deepEqual(await scene().ready(job), []);
    const [waiting] = await scene().store.readWaiting(ALL_SHARDS, dueAt, 10);
    assert.deepEqual(
      [waiting?.id, waiting?.dueAt, waiting?.rank, waiting?.attempt, waiting?.failures, waiting?.queue],
      [job.executionId, dueAt, 7, 1, 1, "WAITING"],
    );
    const ready = scene().succeeded(job, { ...back, wasAttempt: 1, queue: "READY", rank: 7, ended: [] });
    await scene().applied(job.shard, { changes: [ready] });
    assert.deepEqual(
      (await scene().ready(job)).map((row) => [row.id, row.rank]),
      [[job.executionId, 7]],
    );
    assert.deepEqual(await scene().store.readWaiting(ALL_SHARDS, dueAt, 10), []);
  });

  it("writes nothing of a shard whose epoch is not current, and all of the others", async () => {
    const [mine, lost] = [await scene().submitted({ shard: 1 }), await scene().submitted({ shard: 2 })];
    const ticks = [
      scene().tick(1, { changes: [scene().succeeded(mine)], assigned: [scene().entry(mine)] }),
      scene().tick(2, {
        changes: [scene().succeeded(lost)],
        assigned: [scene().entry(lost)],
        expected: [{ id: scene().runtime.uuid(), attempt: 0 }],
      }),
    ];
    await takeShards(scene().store, [2], scene().runtime.uuid());
    assert.deepEqual(await scene().store.commit(ticks), [applied(1), fenced(2)]);
    assert.deepEqual(
      (await scene().store.load([mine.executionId, lost.executionId])).map((row) => row.id),
      [lost.executionId],
    );
    const { journals } = await scene().store.recover([1, 2]);
    assert.deepEqual(
      journals.map(({ shard }) => shard),
      [1],
    );
  });

  it("accepts an epoch neither of the past nor of the future", async () => {
    const job = await scene().submitted();
    for (const epoch of [scene().epochOf(job.shard) - 1, scene().epochOf(job.shard) + 1]) {
      const tick = scene().tick(job.shard, { epoch, changes: [scene().succeeded(job)] });
      assert.equal((await scene().store.commit([tick]))[0]?.status, "FENCED");
    }
    assert.equal((await scene().store.load([job.executionId])).length, 1);
  });

  it("leaves rows alone that are not what the change expects, names them, and applies the rest", async () => {
    const jobs = await Promise.all([1, 2, 3, 4].map(() => scene().submitted({ shard: 3 })));
    const [state, attempt, unknown, good] = jobs as [
      (typeof jobs)[0],
      (typeof jobs)[0],
      (typeof jobs)[0],
      (typeof jobs)[0],
    ];
    const absent = scene().runtime.uuid();
    const tick = scene().tick(3, {
      changes: [
        scene().succeeded(state, { wasState: "RUNNING" }),
        scene().succeeded(attempt, { wasAttempt: 1, attempt: 2 }),
        scene().succeeded(unknown, { id: absent }),
        scene().succeeded(good),
      ],
    });
    const [outcome] = await scene().store.commit([tick]);
    assert.deepEqual([...(outcome?.missed ?? [])].sort(), [state.executionId, attempt.executionId, absent].sort());
    assert.equal(outcome?.status, "APPLIED");
    const left = await scene().store.load(jobs.map((job) => job.executionId));
    assert.deepEqual(left.map((row) => row.id).sort(), [state, attempt, unknown].map((job) => job.executionId).sort());
  });

  it("never changes a final row, whatever is told of it later", async () => {
    const job = await scene().submitted();
    await scene().applied(job.shard, { changes: [scene().succeeded(job)] });
    for (const wasState of ["PENDING", "RUNNING"] as const) {
      for (const wasAttempt of [0, 1, 2]) {
        const late = scene().succeeded(job, { wasState, wasAttempt, state: "DEAD", attempt: wasAttempt + 1 });
        const [outcome] = await scene().store.commit([scene().tick(job.shard, { changes: [late] })]);
        assert.deepEqual(outcome?.missed, [job.executionId]);
      }
    }
    assert.equal((await scene().store.queries.getExecution(TENANT, job.executionId))?.state, "SUCCEEDED");
  });

  it("names hinted rows that are not pending with the attempt that was hinted", async () => {
    const [good, final, running, otherAttempt] = await Promise.all(
      [1, 2, 3, 4].map(() => scene().submitted({ shard: 5 })),
    );
    assert.ok(good && final && running && otherAttempt);
    await scene().applied(5, { changes: [scene().succeeded(final), scene().running(running)] });
    const absent = scene().runtime.uuid();
    const expected = [good, final, running].map((job) => ({ id: job.executionId, attempt: 0 }));
    const all = [...expected, { id: otherAttempt.executionId, attempt: 3 }, { id: absent, attempt: 0 }];
    const [outcome] = await scene().store.commit([scene().tick(5, { expected: all })]);
    assert.equal(outcome?.status, "APPLIED");
    assert.deepEqual(
      [...(outcome?.missed ?? [])].sort(),
      [final.executionId, running.executionId, otherAttempt.executionId, absent].sort(),
    );
  });

  it("keeps a unique key until a change frees it", async () => {
    const job = await scene().submitted({ uniqueKey: "u1" });
    const holder = async () => {
      const next = scene().job({ uniqueKey: "u1" });
      const [outcome] = await scene().store.submit([{ idempotency: null, jobs: [next] }]);
      assert.ok(outcome?.kind === "ACCEPTED");
      return outcome.jobs[0]?.executionId === next.executionId ? "nobody" : outcome.jobs[0]?.executionId;
    };
    await scene().applied(job.shard, { changes: [scene().running(job)] });
    assert.equal(await holder(), job.executionId);
    const running = { wasState: "RUNNING", wasAttempt: 1 } as const;
    const failed = { ...running, state: "PENDING", queue: "READY", finishedAt: null } as const;
    await scene().applied(job.shard, { changes: [scene().succeeded(job, failed)] });
    assert.equal(await holder(), job.executionId);
    const last = { wasState: "PENDING", wasAttempt: 1, attempt: 2, releaseUniqueKey: true } as const;
    await scene().applied(job.shard, { changes: [scene().succeeded(job, last)] });
    assert.equal(await holder(), "nobody");
  });

  it("frees no unique key for a change that missed", async () => {
    const job = await scene().submitted({ uniqueKey: "u1" });
    const stale = scene().succeeded(job, { wasAttempt: 4, attempt: 5, releaseUniqueKey: true });
    const [outcome] = await scene().store.commit([scene().tick(job.shard, { changes: [stale] })]);
    assert.deepEqual(outcome?.missed, [job.executionId]);
    const [again] = await scene().store.submit([{ idempotency: null, jobs: [scene().job({ uniqueKey: "u1" })] }]);
    assert.equal(again?.kind === "ACCEPTED" && again.jobs[0]?.deduplicated, true);
  });

  it("leaves out rows that it cannot hold, says why, and applies the rest of the tick", async () => {
    const jobs = await Promise.all(Array.from({ length: 8 }, (_, i) => scene().submitted({ shard: i % 2 })));
    const changes = jobs.map((job) => scene().succeeded(job));
    const far = { ...changes[3], dueAt: 1e300 } as (typeof changes)[number];
    const nul = { ...changes[6], workerId: "w\u0000" } as (typeof changes)[number];
    const told = changes.map((change, i) => (i === 3 ? far : i === 6 ? nul : change));
    const ticks = [0, 1].map((shard) => scene().tick(shard, { changes: told.filter((_, i) => i % 2 === shard) }));
    const outcomes = await scene().store.commit(ticks);
    assert.deepEqual(
      outcomes.map(({ shard, status, missed, refused }) => [shard, status, missed, refused.map(({ id }) => id)]),
      [
        [0, "APPLIED", [], [nul.id]],
        [1, "APPLIED", [], [far.id]],
      ],
    );
    assert.ok(outcomes.every(({ refused }) => refused.every(({ message }) => message.length > 0)));
    const left = await scene().store.load(jobs.map((job) => job.executionId));
    assert.deepEqual(left.map((row) => row.id).sort(), [far.id, nul.id].sort());
  });

  it("keeps the journal of a refused row until the row is written after all", async () => {
    const job = await scene().submitted({ shard: 7 });
    const assign = await scene().applied(7, { assigned: [scene().entry(job)] });
    const settledJournals = [{ epoch: assign.epoch, seq: assign.journalSeq }];
    const bad = scene().succeeded(job, { workerId: "w\u0000" });
    const [outcome] = await scene().store.commit([scene().tick(7, { changes: [bad], settledJournals })]);
    assert.deepEqual(
      outcome?.refused.map(({ id }) => id),
      [job.executionId],
    );
    // If the owner died now, its successor would have to learn that attempt 1 was assigned.
    assert.equal((await scene().store.recover([7])).inFlight[0]?.attempt, 1);
    await scene().applied(7, { changes: [{ ...bad, state: "DEAD", workerId: null }] });
    assert.deepEqual(await scene().store.recover([7]), { inFlight: [], journals: [], commands: [] });
  });

  it("leaves the journal of a refused row to the next owner of the shard", async () => {
    const job = await scene().submitted({ shard: 7 });
    const { epoch, journalSeq: seq } = await scene().applied(7, { assigned: [scene().entry(job)] });
    const bad = scene().succeeded(job, { workerId: "w\u0000" });
    const tick = scene().tick(7, { changes: [bad], settledJournals: [{ epoch, seq }] });
    assert.equal((await scene().store.commit([tick]))[0]?.refused.length, 1);
    await scene().takeOver([7]);
    await scene().applied(7, { changes: [{ ...bad, state: "DEAD", workerId: null }] });
    const { journals } = await scene().store.recover([7]);
    assert.deepEqual(journals, [{ shard: 7, ref: { epoch, seq }, unsettled: 0 }]);
  });

  it("writes a tick of thousands", async () => {
    const jobs = Array.from({ length: 3_000 }, () => scene().job());
    const parts = [0, 1_000, 2_000].map((from) => ({ idempotency: null, jobs: jobs.slice(from, from + 1_000) }));
    await scene().store.submit(parts);
    const ticks = ALL_SHARDS.map((shard) => {
      const own = jobs.filter((job) => job.shard === shard);
      const [done, next] = [own.slice(0, own.length >> 1), own.slice(own.length >> 1)];
      return scene().tick(shard, {
        changes: done.map((job) => scene().succeeded(job, { result: Buffer.from(job.jobId) })),
        assigned: next.map((job) => scene().entry(job)),
        expected: next.map((job) => ({ id: job.executionId, attempt: 0 })),
      });
    });
    assert.deepEqual(await scene().store.commit(ticks), ALL_SHARDS.map(applied));
    const { inFlight } = await scene().store.recover(ALL_SHARDS);
    assert.equal(inFlight.length, ticks.flatMap((tick) => tick.assigned).length);
    assert.equal((await scene().store.load(jobs.map((job) => job.executionId))).length, inFlight.length);
  });
}
