import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Ref, type Task, TerminalError, task, WorkflowFailed, workflow } from "@mainspring/sdk";
import { NotReached, simulate } from "./index.ts";

/** Fetches rows, fails as often as the input says, and forks by the number of rows. */
const extract = task({
  name: "extract",
  retry: { maxAttempts: 3, backoff: "FIXED", initialDelayMs: 60_000, jitter: false },
  run: async ({ rows, failures }: { rows: number; failures: number }, ctx) => {
    if (ctx.failures < failures) throw new Error("the source does not answer");
    ctx.branch(rows > 0 ? "some" : "none");
    return { rows, list: Array.from({ length: rows }, (_, row) => ({ row })) };
  },
});
const load = task({
  name: "load",
  pool: "database",
  run: async ({ list, first }: { list: { row: number }[]; first: { row: number } }, ctx) => {
    await ctx.sleep(5_000);
    return `${list.length} rows from ${first.row}`;
  },
});
const approve = task({
  name: "approve",
  run: async (_: null, { step }) =>
    String((await step.waitForSignal("approved", { timeoutMs: 86_400_000 }))?.data ?? "nobody"),
});
const note = task({ name: "note", run: async ({ text }: { text: string | null }) => text ?? "nothing" });

const etl = workflow("etl", {}, (w, input: Ref<{ rows: number; failures: number }>) => {
  const rows = w.node(
    "extract",
    extract,
    { rows: input.rows, failures: input.failures },
    { branches: ["some", "none"] },
  );
  const loaded = w.node(
    "load",
    load,
    { list: rows.list, first: w.at(rows.list, 0) },
    { after: [w.branch(rows, "some")] },
  );
  w.node("empty", note, { text: "no rows" }, { after: [w.branch(rows, "none")] });
  w.node("alarm", note, { text: "failed" }, { after: [w.failed(rows)] });
  const noted = w.node("note", note, { text: w.orNull(loaded) }, { after: [w.finished(loaded)] });
  return { loaded: w.orNull(loaded), noted: w.orNull(noted) };
});

describe("a workflow in a simulation", () => {
  it("runs with the tasks of its nodes, retries them by the clock, and has a typed result", async () => {
    await using m = await simulate({ workflows: [etl] });
    const run = await etl.submit(m.client, { rows: 2, failures: 1 });
    const { loaded } = await run.result();
    assert.equal(loaded satisfies string | null, "2 rows from 0");
    assert.deepEqual(await m.states(run), {
      extract: "SUCCEEDED",
      load: "SUCCEEDED",
      empty: "SKIPPED",
      alarm: "SKIPPED",
      note: "SUCCEEDED",
    });
    const node = await m.node(run, "extract");
    assert.deepEqual([node.attempt, node.failures, node.branch], [2, 1, "some"]);
    assert.deepEqual(
      node.attempts.map(({ state, error }) => `${state} ${error?.message ?? ""}`),
      ["FAILED the source does not answer", "SUCCEEDED "],
    );
    assert.deepEqual(node.result, { rows: 2, list: [{ row: 0 }, { row: 1 }] });
    const skipped = await m.node(run, "empty");
    assert.deepEqual([skipped.state, skipped.result, skipped.because?.kind], ["SKIPPED", null, "DEPENDENCIES"]);
    assert.deepEqual(
      m.failures.map(({ task, attempt }) => `${task} ${attempt}`),
      ["extract 1"],
    );
    await assert.rejects(
      m.node(run, "lod"),
      /^Error: the run has no node "lod", but extract, load, empty, alarm, note$/,
    );
  });

  it("takes another branch, on which later nodes get null", async () => {
    await using m = await simulate({ workflows: [etl] });
    const run = await etl.submit(m.client, { rows: 0, failures: 0 });
    assert.deepEqual(await m.states(run), {
      ...Object.fromEntries(names.map((name) => [name, "BLOCKED"])),
      extract: "PENDING",
    });
    assert.deepEqual(
      m.enqueued(extract).map(({ payload }) => payload),
      [{ rows: { $from: "$input", path: ["rows"] }, failures: { $from: "$input", path: ["failures"] } }],
    );
    const execution = await m.waitFor(run);
    assert.deepEqual(execution.result, { loaded: null, noted: "nothing" });
    assert.equal((await m.node(run, "empty")).result, "no rows");
  });
  const names = ["extract", "load", "empty", "alarm", "note"];

  it("fails with the node and its error, also beside nodes that may fail, and retries what failed", async () => {
    let isDown = true;
    const down = task({
      name: "down",
      run: async () => {
        if (isDown) throw new TerminalError("the table is locked");
        return "written";
      },
    });
    const optional = task({ name: "optional", run: () => Promise.reject(new TerminalError("no mail")) });
    const pair = workflow("pair", {}, (w) => {
      w.node("optional", optional, null, { allowFailure: true });
      return w.node("write", down);
    });
    await using m = await simulate({ workflows: [pair] });
    const run = await pair.submit(m.client);
    await assert.rejects(run.result(), (error) => {
      assert.ok(error instanceof WorkflowFailed);
      assert.deepEqual(
        [error.code, error.workflowId, error.node, error.error?.message, error.workflow.state],
        ["WORKFLOW_FAILED", run.workflowId, "write", "the table is locked", "DEAD"],
      );
      assert.equal(error.message, `workflow ${run.workflowId} is DEAD: node write is DEAD: the table is locked`);
      return true;
    });
    isDown = false;
    const retried = await run.retry();
    assert.equal(await retried.result(), "written");
    assert.equal((await m.node(retried, "write")).attempt, 1);
    const cancelled = await etl.submit(m.client, { rows: 1, failures: 0 });
    await cancelled.cancel();
    await assert.rejects(
      cancelled.result(),
      (error: WorkflowFailed) => error.node === null && error.message.endsWith("is CANCELLED"),
    );
  });

  it("gets signals by the names of its nodes", async () => {
    const signed = workflow("signed", {}, (w) => {
      return w.node("note", note, { text: w.node("approval", approve) });
    });
    await using m = await simulate({ workflows: [signed] });
    const run = await signed.submit(m.client);
    await m.clock.advance("2h");
    assert.deepEqual(await m.states(run), { approval: "PENDING", note: "BLOCKED" });
    await run.signal("approval", "approved", "Ada");
    assert.equal(await run.result(), "Ada");
  });

  it("recurs by its schedule, which a program may apply at each of its starts", async () => {
    await using m = await simulate({ workflows: [etl], startAt: "2026-06-01T12:00:00Z" });
    const times = { schedule: "0 2 * * *", timezone: "Europe/Berlin", input: { rows: 1, failures: 0 } };
    const first = await etl.schedule(m.client, times);
    const again = await etl.schedule(m.client, times);
    assert.deepEqual([first.created, first.nextFireAt], [true, "2026-06-02T00:00:00.000Z"]);
    assert.deepEqual(again, { jobId: first.jobId, state: "ACTIVE", nextFireAt: first.nextFireAt, created: false });
    await assert.rejects(
      etl.schedule(m.client, { ...times, input: { rows: 2, failures: 0 } }),
      /a recurring job named "etl" exists, with another definition\. Delete that job with client\.deleteJob/,
    );
    await m.clock.advance("3 days");
    const runs: string[] = [];
    for await (const { state, startedAt } of m.client.workflows.list({ name: "etl" }))
      runs.unshift(`${startedAt} ${state}`);
    assert.deepEqual(
      runs,
      [2, 3, 4].map((day) => `2026-06-0${day}T00:00:00.000Z SUCCEEDED`),
    );
  });

  it("is described where it does not come to the state that the test expects", async () => {
    const missing: Task<{ text: string | null }, string> = { ...note, name: "missing" };
    const stuck = workflow("stuck", {}, (w) => {
      const first = w.node("first", note, { text: "x" });
      const second = w.node("second", missing, { text: first });
      w.node("third", note, { text: second });
    });
    await using m = await simulate({ tasks: [note] });
    const run = await stuck.submit(m.client);
    const error = await m.waitFor(run).catch((error: unknown) => error);
    assert.ok(error instanceof NotReached);
    const [, ...lines] = error.message.split("\n");
    assert.deepEqual(lines, [
      "  1 nodes have SUCCEEDED",
      '  second is PENDING: no worker has the handler "missing": simulate({ tasks }) was given "note"',
      "  third is BLOCKED: it waits for second",
    ]);
    assert.match(error.message, /^expected SUCCEEDED after .* but workflow stuck \(run [-0-9a-f]+\) is RUNNING\n/);
    await assert.rejects(run.result(), /nothing came of waiting for .* workflow stuck/);
  });

  it("runs tasks of a test in place of those of its workflow", async () => {
    const fake = task({
      name: "extract",
      run: async (_: { rows: number; failures: number }, ctx) => ctx.branch("none"),
    });
    await using m = await simulate({ tasks: [fake], workflows: [etl] });
    const run = await etl.submit(m.client, { rows: 9, failures: 9 });
    assert.deepEqual(await run.result(), { loaded: null, noted: "nothing" });
  });
});
