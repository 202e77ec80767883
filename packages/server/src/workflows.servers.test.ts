import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, type WaitReason, Worker, type Workflow, type WorkflowNode } from "@mainspring/sdk";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";
import { Hold, workflowTasks } from "./workflow-tasks.fixture.ts";

const step = { handler: "step" };
const fail = { handler: "fail" };
const hold = { handler: "hold" };
const NO_RETRY = { retryPolicy: { maxAttempts: 1 } };

describe("workflows over HTTP, on PostgreSQL, with a worker", () => {
  let postgres: TestPostgres;
  let node: RunningNode;
  let client: Client;
  let worker: Worker;
  const holds = new Hold();
  before(async () => {
    postgres = await startPostgres({ version: 14 });
    node = await startLocalNode({ MAINSPRING_STORE: postgres.url });
    client = new Client({ url: node.httpUrl });
    worker = new Worker({ url: node.grpcAddress, slots: 8, tasks: workflowTasks(holds), warn: () => undefined });
    await worker.start();
  });
  after(async () => {
    await worker?.stop();
    await node?.stop();
    await postgres?.stop();
  });

  const submit = async (workflow: Parameters<Client["workflows"]["submit"]>[0]) =>
    (await client.workflows.submit(workflow)).workflowId;
  const nodesOf = async (run: string): Promise<Record<string, WorkflowNode>> => {
    const nodes: Record<string, WorkflowNode> = {};
    for await (const one of client.workflows.nodes(run)) nodes[one.name] = one;
    return nodes;
  };
  const statesOf = async (run: string) =>
    Object.fromEntries(Object.values(await nodesOf(run)).map(({ name, state }) => [name, state]));
  const ends = async (run: string, ...[state, reason]: [Workflow["state"], string | null]) => {
    const workflow = await client.workflows.waitFor(run);
    assert.deepEqual([workflow.state, workflow.reason, workflow.mode], [state, reason, null], JSON.stringify(workflow));
    return workflow;
  };
  /** Asks again until the answer is yes. */
  const isAsleep = ({ reason }: WaitReason) => reason === "AWAITS_SIGNAL";
  const raw = async (path: string) => {
    const answer = await fetch(node.httpUrl + path);
    assert.equal(answer.status, 200);
    return answer.text();
  };

  it("run a diamond in its order, and tell so", async () => {
    const run = await submit({
      name: "diamond",
      nodes: [
        { name: "a", target: step },
        { name: "b", target: step, dependsOn: ["a"] },
        { name: "c", target: step, dependsOn: ["a"] },
        { name: "d", target: step, dependsOn: ["b", "c"] },
      ],
    });
    const ended: string[] = [];
    let last: string | null = null;
    for await (const event of client.workflows.follow(run)) {
      if (event.type === "workflow") last = event.workflow.state;
      else if (event.node.state === "SUCCEEDED") ended.push(event.node.name);
    }
    assert.deepEqual([[...ended].sort(), last], [["a", "b", "c", "d"], "SUCCEEDED"]);
    assert.deepEqual([ended[0], ended[3]], ["a", "d"]);
    const { counts } = await ends(run, "SUCCEEDED", null);
    assert.equal(counts.SUCCEEDED, 4);
    const nodes = await nodesOf(run);
    for (const [parent, child] of ["ab", "ac", "bd", "cd"].map((pair) => [...pair]))
      assert.ok(
        String(nodes[parent as string]?.finishedAt) <= String(nodes[child as string]?.startedAt),
        `${parent} before ${child}`,
      );
    const { nodes: drawn } = JSON.parse(await raw(`/v1/workflows/${run}/graph`));
    assert.deepEqual(
      drawn[3].dependsOn,
      ["b", "c"].map((name) => ({ node: name, when: "SUCCEEDED" })),
    );
    assert.match(await raw(`/v1/workflows/${run}/graph?format=mermaid`), /^flowchart LR\n/);
    const execution = await client.getExecution(nodes["d"]?.executionId as string);
    assert.deepEqual([execution.workflowId, execution.node, execution.state], [run, "d", "SUCCEEDED"]);
  });

  it("give results to later nodes, and have a result", async () => {
    const big = "9".repeat(15);
    const submitted = await fetch(`${node.httpUrl}/v1/workflows`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `{
        "input": {"day": ${big}}, "output": {"got": {"$from": "last", "path": ["b", "list", 1]}, "skipped": {"$from": "never"}},
        "nodes": [
          {"name": "first", "target": {"handler": "echo"}, "payload": {"list": [1, {"day": {"$from": "$input", "path": ["day"]}}]}},
          {"name": "last", "target": {"handler": "echo"}, "payload": {"b": {"$from": "first"}, "c": {"$literal": {"$from": 1}}}, "dependsOn": ["first"]},
          {"name": "never", "target": {"handler": "echo"}, "dependsOn": [{"node": "first", "when": "FAILED"}]}
        ]
      }`,
    });
    assert.equal(submitted.status, 201);
    const { workflowId } = (await submitted.json()) as { workflowId: string };
    await ends(workflowId, "SUCCEEDED", null);
    const { result: output } = await client.workflows.get(workflowId);
    assert.deepEqual(output, { got: { day: Number(big) }, skipped: null });
    const { last } = await nodesOf(workflowId);
    const { result, payload } = await client.getExecution(last?.executionId as string);
    assert.deepEqual((result as { c: unknown }).c, { $from: 1 });
    assert.deepEqual((payload as { b: unknown }).b, { $from: "first" }, "the API shows the payload as submitted");
  });

  it("are DEAD where a reference leads nowhere, without a retry", async () => {
    const run = await submit({
      nodes: [
        { name: "first", target: { handler: "echo" }, payload: { rows: 1 } },
        { name: "next", target: step, payload: { $from: "first", path: ["row"] }, dependsOn: ["first"] },
        { name: "alarm", target: step, dependsOn: [{ node: "next", when: "FAILED" }] },
      ],
    });
    const { failed } = await ends(run, "DEAD", "NODE_DEAD");
    const [next] = failed;
    assert.deepEqual([next?.name, next?.reason, next?.attempt], ["next", "REFERENCE_NOT_FOUND", 1]);
    assert.match(String(next?.error?.message), /\{"\$from":"first","path":\["row"\]\} leads nowhere/);
    assert.equal((await statesOf(run))["alarm"], "SUCCEEDED");
    const output = await submit({ output: { $from: "a", path: [0] }, nodes: [{ name: "a", target: step }] });
    const { error } = await ends(output, "DEAD", "REFERENCE_NOT_FOUND");
    assert.match(String(error?.message), /the output of the workflow: .*"path":\[0\]/);
    await client.deadLetters.discard([run, output]);
  });

  it("start a node with join ANY at the first end, and explain what waits", async () => {
    const begun = holds.begins("any");
    const run = await submit({
      nodes: [
        { name: "slow", target: hold, payload: "any" },
        { name: "fast", target: step },
        { name: "any", target: step, dependsOn: ["slow", "fast"], join: "ANY" },
        { name: "all", target: step, dependsOn: ["slow", "any"] },
      ],
    });
    await begun;
    for await (const event of client.workflows.follow(run))
      if (event.type === "node" && event.node.name === "any" && event.node.state === "SUCCEEDED") break;
    const all = await client.workflows.explain(run, "all");
    assert.deepEqual([all.state, all.reasons], ["BLOCKED", [{ reason: "PARENTS_OPEN", open: 1, first: ["slow"] }]]);
    assert.equal((await client.workflows.explain(run, "slow")).reasons[0]?.reason, "RUNNING");
    const [reason] = (await client.explain(run)).reasons;
    assert.deepEqual([reason?.reason, reason?.["open"], reason?.["first"]], ["PARENTS_OPEN", 2, ["slow", "all"]]);
    holds.goOn("any");
    await ends(run, "SUCCEEDED", null);
  });

  it("take the way of the branch that a handler chose", async () => {
    const run = await submit({
      nodes: [
        { name: "check", target: step, payload: { branch: "good" } },
        { name: "good", target: step, dependsOn: [{ node: "check", when: "BRANCH:good" }] },
        { name: "bad", target: step, dependsOn: [{ node: "check", when: "BRANCH:bad" }] },
        { name: "done", target: step, dependsOn: [{ node: "bad", when: "FINISHED" }, "good"] },
      ],
    });
    await ends(run, "SUCCEEDED", null);
    const { check, bad, good, done } = await nodesOf(run);
    assert.deepEqual(
      [check?.branch, good?.state, done?.state, bad?.state],
      ["good", "SUCCEEDED", "SUCCEEDED", "SKIPPED"],
    );
    assert.deepEqual(bad?.because?.dependencies, [{ node: "check", when: "BRANCH:bad", state: "SUCCEEDED" }]);
  });

  it("fail fast: what runs is cancelled, and only handlers of the failure start", async () => {
    const begun = [holds.begins("fast"), holds.begins("gate")];
    const run = await submit({
      name: "fragile",
      nodes: [
        { name: "slow", target: hold, payload: "fast" },
        { name: "gate", target: hold, payload: "gate" },
        { name: "broken", target: fail, dependsOn: ["gate"], ...NO_RETRY },
        { name: "after", target: step, dependsOn: ["slow"] },
        { name: "alarm", target: step, dependsOn: [{ node: "broken", when: "FAILED" }] },
      ],
    });
    await Promise.all(begun);
    holds.goOn("gate");
    const { failed } = await ends(run, "DEAD", "NODE_DEAD");
    assert.deepEqual(
      failed.map(({ name, error }) => [name, error?.message]),
      [["broken", "no disk"]],
    );
    assert.deepEqual(await statesOf(run), {
      ...{ slow: "CANCELLED", gate: "SUCCEEDED", broken: "DEAD", after: "SKIPPED", alarm: "SUCCEEDED" },
    });
    const letters: string[] = [];
    for await (const { executionId } of client.deadLetters.list()) letters.push(executionId);
    assert.deepEqual(letters, [run]);
    assert.deepEqual(
      (await client.deadLetters.replay([run])).map(({ outcome }) => outcome),
      ["OF_WORKFLOW"],
    );
    assert.deepEqual(
      (await client.deadLetters.discard([run])).map(({ outcome }) => outcome),
      ["DISCARDED"],
    );
  });

  it("are retried as runs that keep what has succeeded, and end as a whole run would", async () => {
    const run = await submit({
      nodes: [
        { name: "choose", target: step, payload: { branch: "left" } },
        { name: "right", target: step, dependsOn: [{ node: "choose", when: "BRANCH:right" }] },
        {
          name: "left",
          target: { handler: "flaky" },
          payload: "left",
          dependsOn: [{ node: "choose", when: "BRANCH:left" }],
        },
        { name: "last", target: { handler: "flaky" }, payload: "last", dependsOn: ["left"] },
        { name: "alarm", target: step, dependsOn: [{ node: "left", when: "FAILED" }] },
      ],
    });
    await ends(run, "DEAD", "NODE_DEAD");
    const second = await client.workflows.retry(run);
    await ends(second.workflowId, "DEAD", "NODE_DEAD");
    const third = await client.workflows.retry(second.workflowId, { from: "FAILED" });
    assert.deepEqual(
      [second.retryOf, Object.keys(second.executionIds), third.retryOf],
      [run, ["left"], second.workflowId],
    );
    const { retriedBy } = await client.workflows.get(run);
    const { deadline, startedAt } = await ends(third.workflowId, "SUCCEEDED", null);
    assert.deepEqual(retriedBy, [second.workflowId]);
    assert.equal(Date.parse(String(deadline)) - Date.parse(String(startedAt)), 365 * 86_400_000);
    const states = { choose: "SUCCEEDED", right: "SKIPPED", left: "SUCCEEDED", last: "SUCCEEDED", alarm: "SKIPPED" };
    assert.deepEqual(await statesOf(third.workflowId), states);
    const { choose, left, last } = await nodesOf(third.workflowId);
    assert.deepEqual(
      [choose?.keptFrom?.workflowId, left?.keptFrom?.workflowId, last?.keptFrom],
      [run, second.workflowId, null],
    );
    const { state, node } = await client.getExecution(String(left?.keptFrom?.executionId));
    assert.deepEqual([state, node], ["SUCCEEDED", "left"]);
    const again = await client.workflows.retry(third.workflowId, { from: ["left"] });
    await ends(again.workflowId, "SUCCEEDED", null);
    assert.equal((await nodesOf(again.workflowId))["left"]?.attempt, 1);
  });

  it("go on after a failure with CONTINUE, and succeed where the node may fail", async () => {
    const graph = (allowFailure: boolean) => ({
      onFailure: "CONTINUE" as const,
      nodes: [
        { name: "broken", target: fail, allowFailure, ...NO_RETRY },
        { name: "other", target: step },
        { name: "next", target: step, dependsOn: ["other"] },
        { name: "child", target: step, dependsOn: ["broken"] },
      ],
    });
    const [allowed, fatal] = [await submit(graph(true)), await submit(graph(false))];
    await ends(allowed, "SUCCEEDED", null);
    await ends(fatal, "DEAD", "NODE_DEAD");
    const states = { broken: "DEAD", other: "SUCCEEDED", next: "SUCCEEDED", child: "SKIPPED" };
    assert.deepEqual([await statesOf(allowed), await statesOf(fatal)], [states, states]);
  });

  it("end by a cancellation when workers have stopped their nodes", async () => {
    const begun = holds.begins("cancel");
    const run = await submit({
      nodes: [
        { name: "slow", target: hold, payload: "cancel" },
        { name: "after", target: step, dependsOn: ["slow"] },
      ],
    });
    await begun;
    assert.equal(await client.workflows.cancel(run), "REQUESTED");
    await ends(run, "CANCELLED", null);
    assert.deepEqual(await statesOf(run), { slow: "CANCELLED", after: "SKIPPED" });
    assert.equal(await client.workflows.cancel(run), "CANCELLED");
  });

  it("stand still while they are paused, what runs ends, and go on when they are resumed", async () => {
    const begun = holds.begins("pause");
    const run = await submit({
      nodes: [
        { name: "slow", target: hold, payload: "pause" },
        { name: "after", target: step, dependsOn: ["slow"] },
        { name: "asleep", target: { handler: "await" } },
      ],
    });
    await begun;
    await until(async () => (await nodesOf(run))["asleep"]?.reason === "AWAITS_SIGNAL");
    assert.equal(await client.workflows.pause(run), "PAUSED");
    holds.goOn("pause");
    await until(async () => (await statesOf(run))["slow"] === "SUCCEEDED");
    await client.workflows.signal(run, "asleep", "approved");
    await until(async () => !(await client.workflows.explain(run, "asleep")).reasons.some(isAsleep));
    const paused = async (node: string) =>
      (await client.workflows.explain(run, node)).reasons.map(({ reason }) => reason).includes("WORKFLOW_PAUSED");
    assert.deepEqual([await paused("after"), await paused("asleep")], [true, true]);
    assert.deepEqual(await statesOf(run), { slow: "SUCCEEDED", after: "PENDING", asleep: "PENDING" });
    assert.equal((await client.workflows.get(run)).paused, true);
    assert.equal(await client.workflows.resume(run), "RESUMED");
    await ends(run, "SUCCEEDED", null);
    await assert.rejects(client.workflows.pause(run), { code: "CONFLICT" });
  });

  it("are cancelled in a pause", async () => {
    const begun = holds.begins("cancel-paused");
    const run = await submit({
      nodes: [
        { name: "slow", target: hold, payload: "cancel-paused" },
        { name: "asleep", target: { handler: "await" } },
        { name: "after", target: step, dependsOn: ["slow"] },
      ],
    });
    await begun;
    await until(async () => (await nodesOf(run))["asleep"]?.reason === "AWAITS_SIGNAL");
    assert.equal(await client.workflows.pause(run), "PAUSED");
    await client.workflows.cancel(run);
    await ends(run, "CANCELLED", null);
    assert.deepEqual(await statesOf(run), { slow: "CANCELLED", asleep: "CANCELLED", after: "SKIPPED" });
  });

  it("keep a signal to a node that has no execution yet", async () => {
    const begun = holds.begins("signal");
    const run = await submit({
      nodes: [
        { name: "slow", target: hold, payload: "signal" },
        { name: "approval", target: { handler: "await" }, dependsOn: ["slow"] },
      ],
    });
    await begun;
    const sent = await client.workflows.signal(run, "approval", "approved", { by: "Ada" }, { id: "s1" });
    assert.equal(sent.isRepeated, false);
    holds.goOn("signal");
    await ends(run, "SUCCEEDED", null);
    const { approval } = await nodesOf(run);
    // The node may have begun before its owner heard of the signal. Its second attempt gets the signal then.
    assert.deepEqual((await client.getExecution(approval?.executionId as string)).result, { by: "Ada" });
    await assert.rejects(client.workflows.signal(run, "approval", "approved"), { code: "CONFLICT" });
    await assert.rejects(client.workflows.signal(run, "nobody", "approved"), { code: "NOT_FOUND" });
  });

  it("are DEAD at their deadline", async () => {
    const run = await submit({ timeoutSec: 1, nodes: [{ name: "slow", target: hold, payload: "deadline" }] });
    const { error } = await ends(run, "DEAD", "WORKFLOW_TIMED_OUT");
    assert.match(String(error?.message), /deadline/);
    assert.deepEqual(await statesOf(run), { slow: "CANCELLED" });
  });

  it("hold a run back for its concurrency key, until the run before has ended", async () => {
    const keyed = { concurrencyKey: "etl", nodes: [{ name: "held", target: hold, payload: "first" }] };
    const began = holds.begins("first");
    const first = await submit(keyed);
    await began;
    const second = await submit({ ...keyed, nodes: [{ name: "held", target: hold, payload: "second" }] });
    const { state, mode, counts } = await client.workflows.get(second);
    assert.deepEqual([state, mode, counts.BLOCKED], ["PENDING", null, 1]);
    const reasons = (await client.workflows.explain(second, "held")).reasons.map(({ reason }) => reason);
    assert.deepEqual(reasons, ["KEY_AT_LIMIT", "QUEUED"]);
    const next = holds.begins("second");
    holds.goOn("first");
    await next;
    await ends(first, "SUCCEEDED", null);
    holds.goOn("second");
    await ends(second, "SUCCEEDED", null);
  });

  it("start by a delay, again and again at an interval, and on request", async () => {
    const nodes = [
      { name: "a", target: step },
      { name: "b", target: step, dependsOn: ["a"] },
    ];
    const delayed = await client.workflows.submit({ nodes, delayMs: 300 });
    assert.ok(!("deduplicated" in delayed));
    assert.equal(delayed.state, "PENDING");
    const { scheduledAt, startedAt } = await ends(delayed.workflowId, "SUCCEEDED", null);
    assert.equal(scheduledAt, delayed.startsAt);
    assert.ok(String(startedAt) >= scheduledAt);
    const { jobId } = await client.workflows.schedule({ name: "tick", nodes, everySec: 1, maxFires: 2 });
    const triggered = await client.jobs.trigger(jobId);
    await ends(triggered, "SUCCEEDED", null);
    const fired: string[] = [];
    while (fired.length < 2) {
      fired.length = 0;
      for await (const item of client.jobs.ledger(jobId)) if (item.run !== undefined) fired.push(item.run.executionId);
      if (fired.length < 2) await client.workflows.get(delayed.workflowId, { waitSec: 1 });
    }
    for (const run of fired) await ends(run, "SUCCEEDED", null);
    const listed: string[] = [];
    for await (const { workflowId } of client.workflows.list({ name: "tick" })) listed.push(workflowId);
    assert.deepEqual(listed.sort(), [...fired, triggered].sort());
  });
});
