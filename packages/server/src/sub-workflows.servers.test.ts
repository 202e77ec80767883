import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { Client, type Ref, TerminalError, task, Worker, type WorkflowNode, workflow } from "@mainspring/sdk";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";
import { Hold } from "./workflow-tasks.fixture.ts";

const apiKey = "the-key-of-the-two-servers";
const PROGRAM = new URL("../../cli/bin/mainspring.mjs", import.meta.url).pathname;
const NO_RETRY = { retryPolicy: { maxAttempts: 1 } };

describe("sub-workflows over HTTP, on PostgreSQL, with two servers", () => {
  let postgres: TestPostgres;
  let node: RunningNode;
  let other: ChildProcess;
  let client: Client;
  let worker: Worker;
  const holds = new Hold();
  /** Numbers of attempts of the handler `note`, by payload. */
  const notes = new Map<string, number>();
  const broken = new Set<string>();
  const note = task({
    name: "note",
    run: async (what: string) => {
      notes.set(what, (notes.get(what) ?? 0) + 1);
      if (broken.has(what)) throw new TerminalError(`no ${what}`);
      return what.toUpperCase();
    },
  });
  const hold = task({ name: "hold", run: holds.run });
  before(async () => {
    postgres = await startPostgres({ version: 14 });
    const cluster = { MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_API_KEY: apiKey };
    node = await startLocalNode(cluster);
    client = new Client({ url: node.httpUrl, apiKey });
    const free = { MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_LOG_LEVEL: "fatal" };
    other = spawn(process.execPath, [PROGRAM, "serve"], {
      stdio: "ignore",
      env: { ...process.env, ...free, ...cluster },
    });
    worker = new Worker({ url: node.grpcAddress, apiKey, slots: 40, tasks: [note, hold], warn: () => undefined });
    await worker.start();
    await until(async () => {
      const { shards } = await client.cluster.status();
      return new Set(shards.map(({ nodeId }) => nodeId)).size === 2;
    });
  });
  after(async () => {
    if (other?.exitCode === null) other.kill("SIGKILL");
    await worker?.stop();
    await node?.stop();
    await postgres?.stop();
  });

  const nodesOf = async (run: string): Promise<Record<string, WorkflowNode>> => {
    const found: Record<string, WorkflowNode> = {};
    for await (const one of client.workflows.nodes(run)) found[one.name] = one;
    return found;
  };
  const childOf = async (run: string, name: string) => String((await nodesOf(run))[name]?.childWorkflowId);

  const greeting = workflow("greeting", {}, (w, input: Ref<{ name: string; held: string | null }>) => {
    const named = w.node("named", note, input.name, NO_RETRY);
    return { greeting: named, of: input.name };
  });

  it("run as nodes, get values of nodes around them, and hand their output on", async () => {
    const outer = workflow("outer", {}, (w, input: Ref<{ who: string }>) => {
      const first = w.node("first", note, input.who);
      const inner = workflow("inner", {}, (i, given: Ref<{ name: string }>) => {
        const deep = i.node("deep", greeting, { name: given.name, held: null });
        return { text: deep.greeting };
      });
      const middle = w.node("middle", inner, { name: first });
      return w.node("last", note, middle.text);
    });
    const run = await outer.submit(client, { who: "ann" });
    assert.equal(await run.result(), "ANN");
    const { middle } = await nodesOf(run.workflowId);
    assert.deepEqual([middle?.state, middle?.handler], ["SUCCEEDED", "$workflow"]);
    const child = await client.workflows.get(String(middle?.childWorkflowId));
    assert.deepEqual(child.parent, { workflowId: run.workflowId, node: "middle", item: null });
    assert.deepEqual(child.result, { text: "ANN" });
    const deep = await client.workflows.get(await childOf(child.workflowId, "deep"));
    assert.deepEqual([deep.parent?.node, deep.result], ["deep", { greeting: "ANN", of: "ANN" }]);
    const listed: string[] = [];
    for await (const { workflowId, parent } of client.workflows.list({ parent: run.workflowId }))
      listed.push(`${workflowId} ${parent?.node}`);
    assert.deepEqual(listed, [`${child.workflowId} middle`]);
    for await (const { parent } of client.workflows.list()) assert.equal(parent, null);
  });

  it("run once for each item of a list", async () => {
    const all = workflow("all", {}, (w, input: Ref<string[]>) => {
      w.map("each", greeting, input, (item) => ({ name: item, held: null }), { maxRunning: 2 });
    });
    const run = await all.submit(client, ["a", "b", "c"]);
    await run.result();
    const items: unknown[] = [];
    for await (const { item, childWorkflowId } of client.workflows.items(run.workflowId, "each")) {
      const { parent, result } = await client.workflows.get(String(childWorkflowId));
      items.push([item, parent?.item, result]);
    }
    assert.deepEqual(
      items,
      ["A", "B", "C"].map((name, item) => [item, item, { greeting: name, of: name.toLowerCase() }]),
    );
  });

  it("fail the run, which names the node, and run anew when it is retried; others are kept", async () => {
    broken.add("bad");
    const both = workflow("both", { onFailure: "CONTINUE" }, (w) => {
      w.node("good", greeting, { name: "good", held: null });
      w.node("bad", greeting, { name: "bad", held: null });
    });
    const first = await both.submit(client);
    const dead = await client.workflows.waitFor(first.workflowId);
    assert.deepEqual(
      [dead.state, dead.failed[0]?.name, dead.failed[0]?.error?.message],
      ["DEAD", "bad", "its node named is DEAD"],
    );
    const child = dead.failed[0]?.executionId ?? "";
    assert.equal((await client.workflows.get(child)).failed[0]?.error?.message, "no bad");
    await assert.rejects(client.workflows.retry(child), /retry the workflow/);
    broken.clear();
    const { workflowId } = await client.workflows.retry(first.workflowId);
    assert.equal((await client.workflows.waitFor(workflowId)).state, "SUCCEEDED");
    assert.deepEqual([notes.get("good"), notes.get("bad")], [1, 2]);
    const { good, bad } = await nodesOf(workflowId);
    assert.deepEqual([good?.keptFrom?.workflowId, bad?.keptFrom], [first.workflowId, null]);
  });

  const held = (name: string, options: { concurrencyKey?: string } = {}) =>
    workflow(`held ${name}`, {}, (w) => {
      const inner = workflow("inner", options, (i) => i.node("held", hold, name));
      const one = w.node("one", inner, undefined);
      w.node("after", note, `after ${name}`, { after: [one] });
    });

  it("are cancelled with the run, and told why the node waits", async () => {
    const begun = holds.begins("cancelled");
    const run = await held("cancelled").submit(client);
    await begun;
    const child = await childOf(run.workflowId, "one");
    const { reasons } = await client.workflows.explain(run.workflowId, "one");
    assert.deepEqual(reasons[0], { reason: "CHILD_RUNS", workflowId: child });
    assert.equal(await client.workflows.cancel(run.workflowId), "REQUESTED");
    assert.equal((await client.workflows.waitFor(run.workflowId)).state, "CANCELLED");
    const ended = await client.workflows.get(child);
    assert.deepEqual([ended.state, ended.reason], ["CANCELLED", "WORKFLOW_CANCELLED"]);
    assert.ok((ended.finishedAt ?? "9") <= ((await client.workflows.get(run.workflowId)).finishedAt ?? ""));
    await assert.rejects(client.workflows.signal(run.workflowId, "one", "x"), /sub-workflow/);
  });

  it("end once, and so does what follows, although a server is killed while they run", async () => {
    const names = Array.from({ length: 12 }, (_, i) => `kill ${i}`);
    const begun = Promise.all(names.map((name) => holds.begins(name)));
    const runs: string[] = [];
    for (const [i, name] of names.entries()) {
      const options = i % 3 === 0 ? { concurrencyKey: `key ${i}` } : {};
      runs.push((await held(name, options).submit(client)).workflowId);
    }
    await begun;
    const children = await Promise.all(runs.map((run) => childOf(run, "one")));
    const { shards, node: own } = await client.cluster.status();
    assert.ok(shards.some(({ nodeId }) => nodeId !== own));
    const exited = once(other, "exit");
    other.kill("SIGKILL");
    await exited;
    for (const name of names) holds.goOn(name);
    for (const [i, run] of runs.entries()) {
      const ended = await client.workflows.waitFor(run);
      assert.deepEqual([ended.state, ended.counts.SUCCEEDED], ["SUCCEEDED", 2], JSON.stringify(ended));
      assert.equal(await childOf(run, "one"), children[i]);
      const child = await client.workflows.get(children[i] as string);
      assert.deepEqual([child.state, child.result, child.counts.SUCCEEDED], ["SUCCEEDED", names[i], 1]);
    }
    assert.deepEqual(
      names.map((name) => notes.get(`after ${name}`)),
      names.map(() => 1),
    );
  });
});
