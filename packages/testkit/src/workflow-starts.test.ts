import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type LedgerItem, type RecurringWorkflowRequest, task, type WorkflowSummary } from "@mainspring/sdk";
import { type Simulation, simulate } from "./index.ts";

const START = "2026-03-27T12:00:00Z";

const nodes = [
  { name: "first", target: { handler: "work" } },
  { name: "second", target: { handler: "work" }, dependsOn: ["first"] },
];

/** A simulated Mainspring whose task `work` takes so many seconds, and the times at which its handler began. */
async function stage(workSec = 1) {
  const began: string[] = [];
  const work = task({
    name: "work",
    run: async (_: null, ctx) => {
      began.push(m.clock.now().toISOString().slice(11, 19));
      await ctx.sleep(workSec * 1_000);
    },
  });
  const m = await simulate({ tasks: [work], startAt: START });
  return { m, began };
}

async function runsOf(m: Simulation, name?: string): Promise<WorkflowSummary[]> {
  const runs: WorkflowSummary[] = [];
  for await (const run of m.client.workflows.list(name === undefined ? {} : { name })) runs.unshift(run);
  return runs;
}

async function ledgerOf(m: Simulation, jobId: string): Promise<string[]> {
  const items: LedgerItem[] = [];
  for await (const item of m.client.jobs.ledger(jobId)) items.unshift(item);
  return items.map(({ outcome, reason, run }) => [outcome, reason ?? run?.state].join(" "));
}

describe("a workflow that starts later", () => {
  it("waits for its delay, with nodes that are BLOCKED, and its deadline counts from its start", async () => {
    const { m, began } = await stage();
    await using _ = m;
    const submitted = await m.client.workflows.submit({ nodes, delayMs: 60_000, timeoutSec: 600 });
    assert.ok(!("deduplicated" in submitted));
    const { workflowId, state, startsAt, executionIds } = submitted;
    assert.deepEqual([state, startsAt, executionIds], ["PENDING", "2026-03-27T12:01:00.000Z", {}]);
    const before = await m.client.workflows.get(workflowId);
    assert.deepEqual(
      [before.state, before.mode, before.startedAt, before.deadline, before.counts.BLOCKED, before.scheduledAt],
      ["PENDING", null, null, null, 2, startsAt],
    );
    const { value: first } = await m.client.workflows.nodes(workflowId).next();
    assert.deepEqual([first?.state, first?.blockedBy], ["BLOCKED", { open: 0, first: [] }]);
    const { reasons } = await m.client.workflows.explain(workflowId, "first");
    assert.deepEqual(reasons, [{ reason: "DUE_LATER", dueAt: startsAt }]);
    await m.clock.advance("59s");
    assert.deepEqual(began, []);
    await m.waitFor(workflowId);
    assert.deepEqual(began, ["12:01:00", "12:01:01"]);
    const after = await m.client.workflows.get(workflowId);
    assert.equal(Date.parse(after.deadline ?? "") - Date.parse(after.startedAt ?? ""), 600_000);
  });

  it("is cancelled before its time, and its nodes are SKIPPED", async () => {
    const { m, began } = await stage();
    await using _ = m;
    const { workflowId } = await m.client.workflows.submit({ nodes, runAt: "2026-03-27T13:00:00Z" });
    assert.equal(await m.client.workflows.cancel(workflowId), "CANCELLED");
    const { state, counts } = await m.client.workflows.get(workflowId);
    assert.deepEqual([state, counts.SKIPPED], ["CANCELLED", 2]);
    await m.clock.advance("2h");
    assert.deepEqual(began, []);
  });

  it("waits for its concurrency key, and is skipped if that takes too long", async () => {
    const { m, began } = await stage(30);
    await using _ = m;
    const keyed = { nodes, concurrencyKey: "etl" };
    const [one, two, late] = [
      await m.client.workflows.submit(keyed),
      await m.client.workflows.submit(keyed),
      await m.client.workflows.submit({ ...keyed, startBefore: "2026-03-27T12:00:50Z" }),
    ];
    await m.clock.advance("10s");
    const explained = await m.client.explain(two.workflowId);
    const [held, queued] = explained.reasons;
    assert.ok(held?.reason === "KEY_AT_LIMIT" && queued?.reason === "QUEUED", JSON.stringify(explained.reasons));
    assert.deepEqual([held.key, held.limit, held.running], ["etl", 1, 1]);
    assert.deepEqual(held.heldBy, [{ executionId: one.workflowId, attempt: 0, workerId: null }]);
    await m.waitFor(two.workflowId);
    assert.deepEqual(began, ["12:00:00", "12:00:30", "12:01:00", "12:01:30"]);
    const { state, reason } = await m.client.workflows.get(late.workflowId);
    assert.deepEqual([state, reason], ["SKIPPED", "START_BEFORE_PASSED"]);
  });
});

describe("a workflow that recurs", () => {
  const everyMinute = (more: Partial<RecurringWorkflowRequest> = {}): RecurringWorkflowRequest =>
    ({ name: "etl", nodes, everySec: 60, ...more }) as RecurringWorkflowRequest;

  it("starts a run at each instant, and its ledger says so", async () => {
    const { m, began } = await stage();
    await using _ = m;
    const { jobId, state, nextFireAt, ...rest } = await m.client.workflows.schedule(everyMinute({ maxFires: 2 }));
    assert.deepEqual([state, nextFireAt, rest.nodes], ["ACTIVE", "2026-03-27T12:01:00.000Z", 2]);
    await m.clock.advance("5 min");
    assert.deepEqual(began, ["12:01:00", "12:01:01", "12:02:00", "12:02:01"]);
    assert.deepEqual(await ledgerOf(m, jobId), ["RAN SUCCEEDED", "RAN SUCCEEDED"]);
    const runs = await runsOf(m, "etl");
    assert.deepEqual(
      runs.map((run) => [run.jobId, run.state, run.scheduledAt]),
      ["12:01", "12:02"].map((time) => [jobId, "SUCCEEDED", `2026-03-27T${time}:00.000Z`]),
    );
    await assert.rejects(m.client.workflows.schedule(everyMinute({ schedule: "0 0 1 1 *" } as object)), /everySec/);
  });

  for (const [overlap, ledger, times] of [
    ["SKIP", ["RAN SUCCEEDED", "SKIPPED OVERLAP", "RAN RUNNING", "SKIPPED OVERLAP"], ["12:01:00", "12:03:00"]],
    [
      "BUFFER_ONE",
      ["RAN SUCCEEDED", "RAN SUCCEEDED", "RAN RUNNING", "SKIPPED OVERLAP"],
      ["12:01:00", "12:02:40", "12:04:20"],
    ],
    [
      "CANCEL_PREVIOUS",
      ["RAN CANCELLED", "RAN CANCELLED", "RAN CANCELLED", "RAN RUNNING"],
      ["12:01:00", "12:02:00", "12:03:00", "12:04:00"],
    ],
    [
      "ALLOW",
      ["RAN SUCCEEDED", "RAN SUCCEEDED", "RAN RUNNING", "RAN RUNNING"],
      ["12:01:00", "12:02:00", "12:03:00", "12:04:00"],
    ],
  ] as const) {
    it(`with overlap ${overlap} counts an open run as a running execution`, async () => {
      const { m } = await stage(50);
      await using _ = m;
      const { jobId } = await m.client.workflows.schedule(everyMinute({ overlap }));
      await m.clock.advance("4 min 30s");
      assert.deepEqual(await ledgerOf(m, jobId), ledger);
      const started = (await runsOf(m)).map(({ startedAt }) => startedAt?.slice(11, 19));
      assert.deepEqual(started, times);
      if (overlap !== "CANCEL_PREVIOUS") return;
      assert.deepEqual(
        (await runsOf(m)).map(({ reason }) => reason),
        ["SUPERSEDED", "SUPERSEDED", "SUPERSEDED", null],
      );
    });
  }

  it("is paused, resumed, triggered, made up for and deleted as every recurring job", async () => {
    const { m } = await stage();
    await using _ = m;
    const { jobId } = await m.client.workflows.schedule(everyMinute());
    await m.client.jobs.pause(jobId);
    await m.clock.advance("3 min");
    assert.deepEqual(await runsOf(m), []);
    const triggered = await m.client.jobs.trigger(jobId);
    await m.waitFor(triggered);
    await m.client.jobs.resume(jobId);
    await m.client.jobs.backfill(jobId, { since: new Date(START) });
    await m.clock.advance("30s");
    const runs = await runsOf(m);
    assert.deepEqual(
      runs.map(({ state, nodes: count }) => `${state} ${count}`),
      Array.from({ length: 4 }, () => "SUCCEEDED 2"),
    );
    await assert.rejects(m.client.jobs.upsert("etl", { target: { handler: "work" }, everySec: 9 }), /delete/);
    await m.client.deleteJob(jobId);
    await m.clock.advance("5 min");
    assert.equal((await runsOf(m)).length, 4);
  });

  it("recurs on beside the retry of a failed run, as beside a run on request", async () => {
    const began: string[] = [];
    const work = task({
      name: "work",
      retry: { maxAttempts: 1 },
      run: async (_: null, ctx) => {
        began.push(m.clock.now().toISOString().slice(11, 19));
        await ctx.sleep(50_000);
        if (began.length === 2) throw new Error("the disk is full");
      },
    });
    const m = await simulate({ tasks: [work], startAt: START });
    await using _ = m;
    const { jobId } = await m.client.workflows.schedule(everyMinute({ overlap: "SKIP", maxFires: 2 }));
    await m.clock.advance("2 min 45s");
    const [failed] = await runsOf(m);
    assert.deepEqual([failed?.state, failed?.startedAt?.slice(11, 19)], ["DEAD", "12:01:00"]);
    const retried = await m.client.workflows.retry(failed?.workflowId as string);
    assert.ok(!("deduplicated" in retried));
    await m.clock.advance("5 min");
    assert.deepEqual(began, ["12:01:00", "12:01:50", "12:02:45", "12:03:00", "12:03:50"]);
    assert.deepEqual(await ledgerOf(m, jobId), ["RAN DEAD", "SKIPPED OVERLAP", "RAN SUCCEEDED"]);
    const { state, retryOf } = await m.client.workflows.get(retried.workflowId);
    assert.deepEqual([state, retryOf], ["SUCCEEDED", failed?.workflowId]);
  });

  it("with a key of its own lets one run be open at a time, whatever its overlap allows", async () => {
    const { m } = await stage(50);
    await using _ = m;
    const { jobId } = await m.client.workflows.schedule(everyMinute({ overlap: "ALLOW", concurrencyKey: "one" }));
    await m.clock.advance("4 min 30s");
    assert.deepEqual(await ledgerOf(m, jobId), ["RAN SUCCEEDED", "RAN SUCCEEDED", "RAN RUNNING", "WAITING PENDING"]);
  });
});
