import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, type WaitReason, Worker, type Workflow } from "@mainspring/sdk";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";
import { Hold, workflowTasks } from "./workflow-tasks.fixture.ts";

const step = { handler: "step" };
const hold = { handler: "hold" };
const apiKey = "the-key-of-the-two-servers";
const NO_RETRY = { retryPolicy: { maxAttempts: 1 } };

describe("nodes with concurrency keys over HTTP, on PostgreSQL, with two servers", () => {
  let postgres: TestPostgres;
  let nodes: RunningNode[];
  let client: Client;
  let worker: Worker;
  const holds = new Hold();
  before(async () => {
    postgres = await startPostgres({ version: 14 });
    const cluster = { MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_API_KEY: apiKey };
    nodes = [await startLocalNode(cluster), await startLocalNode(cluster)];
    const [node] = nodes as [RunningNode];
    client = new Client({ url: node.httpUrl, apiKey });
    worker = new Worker({
      url: node.grpcAddress,
      apiKey,
      slots: 8,
      tasks: workflowTasks(holds),
      warn: () => undefined,
    });
    await worker.start();
  });
  after(async () => {
    await worker?.stop();
    for (const node of nodes ?? []) await node.stop();
    await postgres?.stop();
  });

  const submit = async (workflow: Parameters<Client["workflows"]["submit"]>[0]) =>
    (await client.workflows.submit(workflow)).workflowId;
  const statesOf = async (run: string): Promise<Record<string, string>> => {
    const states: Record<string, string> = {};
    for await (const { name, state } of client.workflows.nodes(run)) states[name] = state;
    return states;
  };
  const ends = async (run: string, ...[state, reason]: [Workflow["state"], string | null]) => {
    const workflow = await client.workflows.waitFor(run);
    assert.deepEqual([workflow.state, workflow.reason], [state, reason], JSON.stringify(workflow));
    return workflow;
  };
  const waitsForKey = async (run: string, node: string): Promise<WaitReason | undefined> =>
    (await client.workflows.explain(run, node)).reasons.find(({ reason }) => reason === "KEY_AT_LIMIT");
  /** A node that runs until the test lets it go on, between two others. */
  const guarded = (name: string, concurrencyKey: string) => ({
    nodes: [
      { name: "before", target: step },
      { name: "held", target: hold, payload: name, dependsOn: ["before"], concurrencyKey },
      { name: "after", target: step, dependsOn: ["held"] },
    ],
  });

  it("never run at once in two runs, and in no run beside a job with the key", async () => {
    const begun = holds.begins("first");
    const first = await submit(guarded("first", "one"));
    await begun;
    const second = await submit(guarded("second", "one"));
    const { executionId: job } = await client.submit({ target: hold, payload: "job", concurrencyKey: "one" });
    assert.ok(job);
    await until(async () => (await statesOf(second))["before"] === "SUCCEEDED");
    const waiting = await until(async () => {
      const told = await waitsForKey(second, "held");
      return told?.["running"] === 1 && holdersIn(told).length > 0 ? told : null;
    });
    assert.deepEqual([waiting["key"], waiting["limit"]], ["one", 1]);
    const [holder] = holdersIn(waiting);
    assert.equal((await client.getExecution(String(holder?.executionId))).workflowId, first);
    const next = Promise.race([holds.begins("second").then(() => "second"), holds.begins("job").then(() => "job")]);
    holds.goOn("first");
    await ends(first, "SUCCEEDED", null);
    const began = await next;
    const other = began === "job" ? "second" : "job";
    // The owner of the key learns of the new holder after the handler has begun.
    await until(async () => (await waitsForKeyOf(other === "job" ? job : await heldOf(second))) !== undefined);
    const begins = holds.begins(other);
    holds.goOn(began);
    await begins;
    holds.goOn(other);
    await ends(second, "SUCCEEDED", null);
    assert.deepEqual(await statesOf(second), { before: "SUCCEEDED", held: "SUCCEEDED", after: "SUCCEEDED" });
  });
  const holdersIn = (reason: WaitReason) => (reason["heldBy"] ?? []) as { executionId: string }[];
  const waitsForKeyOf = async (execution: string) =>
    (await client.explain(execution)).reasons.find(({ reason }) => reason === "KEY_AT_LIMIT");
  const heldOf = async (run: string) => {
    for await (const { name, executionId } of client.workflows.nodes(run))
      if (name === "held") return String(executionId);
    throw new Error("the run has the node");
  };

  it("are cancelled with their run, at a worker and behind the key", async () => {
    const begun = holds.begins("cancelled");
    const [first, second] = [await submit(guarded("cancelled", "two")), await submit(guarded("never", "two"))];
    await begun;
    await until(async () => (await waitsForKey(second, "held")) !== undefined);
    await client.workflows.cancel(second);
    await ends(second, "CANCELLED", null);
    assert.deepEqual(await statesOf(second), { before: "SUCCEEDED", held: "CANCELLED", after: "SKIPPED" });
    assert.equal(await client.workflows.cancel(first), "REQUESTED");
    await ends(first, "CANCELLED", null);
  });

  it("end with a run that fails or is too late", async () => {
    const begun = holds.begins("failed");
    const held = (payload: string) => ({ name: "held", target: hold, payload, concurrencyKey: payload });
    const gate = holds.begins("gate");
    const failing = await submit({
      nodes: [
        held("failed"),
        { name: "gate", target: hold, payload: "gate" },
        { name: "broken", target: { handler: "fail" }, dependsOn: ["gate"], ...NO_RETRY },
        { name: "alarm", target: step, dependsOn: [{ node: "broken", when: "FAILED" }], concurrencyKey: "alarm" },
      ],
    });
    const late = await submit({ timeoutSec: 1, nodes: [held("late")] });
    await Promise.all([begun, gate]);
    holds.goOn("gate");
    await ends(failing, "DEAD", "NODE_DEAD");
    const states = { held: "CANCELLED", gate: "SUCCEEDED", broken: "DEAD", alarm: "SUCCEEDED" };
    assert.deepEqual(await statesOf(failing), states);
    await ends(late, "DEAD", "WORKFLOW_TIMED_OUT");
    assert.deepEqual(await statesOf(late), { held: "CANCELLED" });
  });

  it("are kept by a retry, run again in it, and give their results to others", async () => {
    const run = await submit({
      output: { $from: "last" },
      nodes: [
        { name: "first", target: { handler: "echo" }, payload: { rows: 3 }, concurrencyKey: "three" },
        {
          name: "flaky",
          target: { handler: "flaky" },
          payload: "keyed",
          dependsOn: ["first"],
          concurrencyKey: "three",
        },
        {
          ...{ name: "last", target: { handler: "echo" }, payload: { $from: "first", path: ["rows"] } },
          ...{ dependsOn: ["flaky"], concurrencyKey: "three" },
        },
      ],
    });
    await ends(run, "DEAD", "NODE_DEAD");
    const { workflowId } = await client.workflows.retry(run);
    const { result } = await ends(workflowId, "SUCCEEDED", null);
    assert.equal(result, 3);
    for await (const { name, keptFrom } of client.workflows.nodes(workflowId))
      assert.equal(keptFrom !== null, name === "first", name);
  });

  it("get signals by their names, before and after they have an execution", async () => {
    const run = await submit({
      nodes: [
        { name: "now", target: { handler: "await" }, concurrencyKey: "now" },
        { name: "then", target: { handler: "await" }, dependsOn: ["now"], concurrencyKey: "then" },
      ],
    });
    await client.workflows.signal(run, "then", "approved");
    await until(async () => (await statesOf(run))["now"] === "PENDING");
    await client.workflows.signal(run, "now", "approved");
    await ends(run, "SUCCEEDED", null);
  });

  it("end in a run that is paused meanwhile, which goes on when it is resumed", async () => {
    const begun = holds.begins("paused");
    const run = await submit(guarded("paused", "four"));
    await begun;
    await client.workflows.pause(run);
    holds.goOn("paused");
    await until(async () => (await statesOf(run))["held"] === "SUCCEEDED");
    const { paused, state } = await client.workflows.get(run);
    assert.deepEqual([paused, state], [true, "RUNNING"]);
    assert.equal((await statesOf(run))["after"], "PENDING");
    await client.workflows.resume(run);
    await ends(run, "SUCCEEDED", null);
  });

  it("end in their key's shard while the owner of their run is lost, and their run goes on with the next one", async () => {
    const begun = holds.begins("lost");
    const runs = await Promise.all(["a", "b", "c", "d", "e", "f"].map((name) => submit(guarded(`lost-${name}`, name))));
    const last = await submit(guarded("lost", "last"));
    await begun;
    const [, second] = nodes as [RunningNode, RunningNode];
    const stopped = second.stop();
    nodes.pop();
    holds.goOn("lost");
    for (const name of ["a", "b", "c", "d", "e", "f"]) {
      await until(
        async () => (
          holds.goOn(`lost-${name}`), (await statesOf(runs["abcdef".indexOf(name)] as string))["held"] === "SUCCEEDED"
        ),
      );
    }
    await stopped;
    for (const run of [...runs, last]) await ends(run, "SUCCEEDED", null);
  });
});
