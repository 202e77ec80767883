import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type DefinedWorkflow, TerminalError, task, type WorkflowRequest, workflow } from "@mainspring/sdk";
import { type Simulation, simulate } from "./index.ts";

/** A simulated Mainspring whose tasks note when their handlers begin. */
async function stage() {
  const began: string[] = [];
  const work = task({
    name: "work",
    run: async (name: string, ctx) => {
      began.push(name);
      if (name.startsWith("bad")) throw new TerminalError(name);
      await ctx.sleep(60_000);
      return name;
    },
  });
  const undo = task({
    name: "undo",
    run: async ({ payload }: { payload: string }) => void began.push(`undo ${payload}`),
  });
  const m = await simulate({ tasks: [work, undo], startAt: "2026-03-27T12:00:00Z" });
  return { m, began, work };
}

const node = (name: string, ...dependsOn: string[]) => ({
  name,
  target: { handler: "work" },
  payload: name,
  dependsOn,
});
const compensate = { target: { handler: "undo" } };
const childOf = async (m: Simulation, run: string, name: string) => {
  for await (const { name: known, childWorkflowId } of m.client.workflows.nodes(run))
    if (known === name) return String(childWorkflowId);
  throw new Error("the run has the node");
};
const submit = async (m: Simulation, request: WorkflowRequest) => (await m.client.workflows.submit(request)).workflowId;

describe("a workflow in a node", () => {
  it("runs five levels deep, in a workflow that recurs", async () => {
    const { m, began, work } = await stage();
    await using _ = m;
    let inner: DefinedWorkflow<undefined, string> = workflow("level 5", {}, (w) => w.node("deep", work, "deep"));
    for (let level = 4; level >= 0; level--) {
      const below: typeof inner = inner;
      inner = workflow(`level ${level}`, {}, (w) => w.node("below", below, undefined));
    }
    await inner.schedule(m.client, { everySec: 600, maxCatchUp: 1 });
    await m.clock.advance("21 min");
    assert.deepEqual(began, ["deep", "deep"]);
    const results: unknown[] = [];
    for await (const { workflowId } of m.client.workflows.list())
      results.push((await m.client.workflows.get(workflowId)).result);
    assert.deepEqual(results, ["deep", "deep"]);
  });

  it("ends with the deadline of the workflow around it, and by its own", async () => {
    const { m, began } = await stage();
    await using _ = m;
    const inner = { nodes: [node("a"), node("b", "a")] };
    const outer = await submit(m, { timeoutSec: 90, nodes: [{ name: "sub", workflow: inner }, node("after", "sub")] });
    await m.waitFor(outer, "DEAD");
    const child = await m.client.workflows.get(await childOf(m, outer, "sub"));
    assert.deepEqual([child.state, child.reason], ["CANCELLED", "WORKFLOW_TIMED_OUT"]);
    const own = await submit(m, { nodes: [{ name: "sub", workflow: inner, timeoutSec: 30 }] });
    await m.waitFor(own, "DEAD");
    const { failed } = await m.client.workflows.get(own);
    assert.deepEqual([failed[0]?.name, failed[0]?.reason], ["sub", "WORKFLOW_TIMED_OUT"]);
    assert.deepEqual(began, ["a", "b", "a"]);
  });

  it("goes on while the workflow around it is paused, which starts nothing after it", async () => {
    const { m, began } = await stage();
    await using _ = m;
    const inner = { nodes: [node("a"), node("b", "a")] };
    const run = await submit(m, { nodes: [{ name: "sub", workflow: inner }, node("after", "sub")] });
    await m.clock.advance("30 s");
    assert.equal(await m.client.workflows.pause(run), "PAUSED");
    const child = await childOf(m, run, "sub");
    await m.waitFor(child);
    await m.clock.advance("10 min");
    assert.deepEqual(began, ["a", "b"]);
    await m.client.workflows.resume(run);
    await m.waitFor(run);
    assert.deepEqual(began, ["a", "b", "after"]);
  });

  it("undoes its nodes when it fails, and its own node undoes it when a later one fails", async () => {
    const { m, began } = await stage();
    await using _ = m;
    const failing = { nodes: [{ ...node("one"), compensate }, node("bad two", "one")].map(named) };
    const first = await submit(m, { nodes: [{ name: "sub", workflow: failing }] });
    await m.waitFor(first, "DEAD");
    assert.deepEqual(began.splice(0), ["one", "bad two", "undo one"]);
    const fine = { output: { $from: "one" }, nodes: [{ ...node("one"), compensate }] };
    const sub = { name: "sub", workflow: fine, payload: "given", compensate };
    const second = await submit(m, { nodes: [sub, named(node("bad after", "sub"))] });
    await m.waitFor(second, "DEAD");
    assert.deepEqual(began, ["one", "bad after", "undo given"]);
  });

  it("follows the rules for failures of the workflow around it", async () => {
    const { m, began } = await stage();
    await using _ = m;
    const bad = { name: "sub", workflow: { nodes: [named(node("bad"))] }, allowFailure: true };
    const nodes = [bad, { ...node("alarm"), dependsOn: [{ node: "sub", when: "FAILED" }] }, node("never", "sub")];
    const run = await submit(m, { nodes });
    await m.waitFor(run);
    assert.deepEqual(began, ["bad", "alarm"]);
    const { counts } = await m.client.workflows.get(run);
    assert.deepEqual([counts.DEAD, counts.SUCCEEDED, counts.SKIPPED], [1, 1, 1]);
  });

  it("gets a signal by the name of its node", async () => {
    const wait = task({ name: "wait", run: async (_: null, { step }) => (await step.waitForSignal("go"))?.data });
    const inner = workflow("inner", {}, (w) => w.node("wait", wait));
    const outer = workflow("outer", {}, (w) => w.node("sub", inner, undefined));
    await using m = await simulate({ workflows: [outer] });
    const run = await outer.submit(m.client);
    await m.clock.advance("5 s");
    await m.client.workflows.signal(await childOf(m, run.workflowId, "sub"), "wait", "go", "now");
    await m.waitFor(run.workflowId);
    assert.equal(await run.result(), "now");
  });
});

/** The node with a name that a workflow takes. */
function named<T extends { name: string }>(given: T): T {
  return { ...given, name: given.name.replaceAll(" ", "-") };
}
