import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker, type WorkflowItem, type WorkflowNode } from "@mainspring/sdk";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";

describe("maps over HTTP, on PostgreSQL, with a worker", () => {
  let postgres: TestPostgres;
  let node: RunningNode;
  let client: Client;
  let worker: Worker;
  /** Payloads that handlers of items got. */
  const got: unknown[] = [];
  const broken = new Set<number>();
  let running = 0;
  let most = 0;
  const tasks = [
    task({
      name: "list",
      run: async (count: number) => ({ files: Array.from({ length: count }, (_, i) => ({ id: i })) }),
    }),
    task({
      name: "each",
      run: async (payload: { file: number; n: number }) => {
        got.push(payload);
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        if (broken.has(payload.n)) throw new Error("broken");
      },
    }),
    task({ name: "last", run: async () => "done" }),
  ];
  before(async () => {
    postgres = await startPostgres({ version: 14 });
    node = await startLocalNode({ MAINSPRING_STORE: postgres.url });
    client = new Client({ url: node.httpUrl });
    worker = new Worker({ url: node.grpcAddress, slots: 20, tasks, warn: () => undefined });
    await worker.start();
  });
  after(async () => {
    await worker?.stop();
    await node?.stop();
    await postgres?.stop();
  });

  const submit = async (count: number, rules: { maxRunning?: number; tolerate?: { failures: number } } = {}) => {
    got.length = 0;
    most = 0;
    const each = {
      ...{ name: "each", target: { handler: "each" }, dependsOn: ["list"], ...rules },
      ...{ map: { $from: "list", path: ["files"] }, retryPolicy: { maxAttempts: 1 } },
      payload: { file: { $item: true, path: ["id"] }, n: { $index: true } },
    };
    const nodes = [
      { name: "list", target: { handler: "list" }, payload: { $from: "$input" } },
      each,
      { name: "last", target: { handler: "last" }, dependsOn: ["each"] },
    ];
    return (await client.workflows.submit({ input: count, output: { $from: "last" }, nodes })).workflowId;
  };
  const map = async (run: string): Promise<WorkflowNode> => {
    for await (const one of client.workflows.nodes(run)) if (one.name === "each") return one;
    throw new Error("the run has the map");
  };
  const items = async (run: string, state?: WorkflowItem["state"]) => {
    const found: number[] = [];
    for await (const { item } of client.workflows.items(run, "each", state === undefined ? {} : { state }))
      found.push(item);
    return found;
  };

  it("run every item once with its payload, within the limit, and then what follows", async () => {
    const run = await submit(300, { maxRunning: 7 });
    const { state, result } = await client.workflows.waitFor(run);
    assert.deepEqual([state, result], ["SUCCEEDED", "done"]);
    const all = Array.from({ length: 300 }, (_, n) => n);
    assert.deepEqual(
      got.map((payload) => JSON.stringify(payload)).sort(),
      all.map((n) => JSON.stringify({ file: n, n })).sort(),
    );
    assert.ok(most <= 7, `${most} items ran at a time`);
    assert.deepEqual(await items(run), all);
    const { items: counts, state: mapState, executionId } = await map(run);
    assert.deepEqual([mapState, executionId, counts?.total, counts?.SUCCEEDED], ["SUCCEEDED", null, 300, 300]);
  });

  it("run no item where there is none", async () => {
    assert.equal((await client.workflows.waitFor(await submit(0))).state, "SUCCEEDED");
    assert.deepEqual(got, []);
  });

  it("fail with one failure too many, and a retry runs the rest", async () => {
    for (const n of [2, 4]) broken.add(n);
    const tolerant = await submit(6, { tolerate: { failures: 2 } });
    assert.equal((await client.workflows.waitFor(tolerant)).state, "SUCCEEDED");
    assert.deepEqual(await items(tolerant, "DEAD"), [2, 4]);
    const run = await submit(6, { tolerate: { failures: 1 }, maxRunning: 1 });
    assert.equal((await client.workflows.waitFor(run)).state, "DEAD");
    assert.deepEqual(
      [await items(run, "DEAD"), await items(run)],
      [
        [2, 4],
        [0, 1, 2, 3, 4],
      ],
    );
    broken.clear();
    got.length = 0;
    const { workflowId } = await client.workflows.retry(run);
    const { state, result } = await client.workflows.waitFor(workflowId);
    assert.deepEqual([state, result], ["SUCCEEDED", "done"]);
    assert.deepEqual(await items(workflowId), [2, 4, 5]);
    assert.deepEqual(
      got,
      [2, 4, 5].map((n) => ({ file: n, n })),
    );
    assert.deepEqual([(await map(workflowId)).items?.kept, (await map(workflowId)).items?.SUCCEEDED], [3, 3]);
  });

  it("tell why they have no items", async () => {
    const map = { $from: "list", path: ["nothing"] };
    const nodes = [
      { name: "list", target: { handler: "list" }, payload: 1 },
      { name: "each", target: { handler: "each" }, dependsOn: ["list"], map },
    ];
    const { workflowId } = await client.workflows.submit({ nodes });
    const { state, error } = await client.workflows.waitFor(workflowId);
    assert.deepEqual([state, error?.message], ["DEAD", "its node each is DEAD"]);
    const [reason] = (await client.workflows.explain(workflowId, "each")).reasons;
    assert.match(JSON.stringify(reason), /there is no result at the path \[\\"nothing\\"\]/);
  });

  it("go on after a pause, and with the next owner", async () => {
    const run = await submit(200, { maxRunning: 3 });
    await client.workflows.pause(run);
    await node.stop();
    node = await startLocalNode({ MAINSPRING_STORE: postgres.url });
    await worker.stop();
    client = new Client({ url: node.httpUrl });
    worker = new Worker({ url: node.grpcAddress, slots: 20, tasks, warn: () => undefined });
    await worker.start();
    assert.equal((await client.workflows.get(run)).paused, true);
    await client.workflows.resume(run);
    assert.equal((await client.workflows.waitFor(run)).state, "SUCCEEDED");
    assert.deepEqual(
      await items(run),
      Array.from({ length: 200 }, (_, n) => n),
    );
  });
});
