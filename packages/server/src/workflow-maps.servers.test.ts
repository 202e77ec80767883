import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker, type WorkflowItem, type WorkflowNode, type WorkflowResult } from "@mainspring/sdk";
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
  /** Characters of the text in the result of an item. */
  let textChars = 0;
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
        return { n: payload.n, text: "x".repeat(textChars) };
      },
    }),
    task({ name: "last", run: async () => "done" }),
    task({
      name: "collect",
      run: async ({ parts }: { parts: ({ n: number } | null)[] }) => parts.map((part) => part?.n ?? null),
    }),
    task({
      name: "read",
      run: async (_: null, ctx) => {
        const { workflowId = "" } = await client.getExecution(ctx.executionId);
        return (await resultsOf(workflowId)).reduce((sum: number, { result }) => sum + (result?.text.length ?? 0), 0);
      },
    }),
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

  /** Submits a map, and a node that gets its results, or reads them. */
  const submitCollected = async (count: number, handler: "collect" | "read", failures = 0) => {
    const each = {
      ...{ name: "each", target: { handler: "each" }, map: "$input" as const, tolerate: { failures } },
      ...{ payload: { n: { $index: true } }, retryPolicy: { maxAttempts: 1 } },
    };
    const payload = handler === "collect" ? { parts: { $results: "each" } } : null;
    const nodes = [each, { name: "last", target: { handler }, dependsOn: ["each"], payload }];
    const input = Array.from({ length: count }, () => 0);
    return (await client.workflows.submit({ input, output: { $from: "last" }, nodes })).workflowId;
  };
  const resultsOf = async (run: string) => {
    const found: WorkflowResult<{ n: number; text: string }>[] = [];
    for await (const one of client.workflows.results<{ n: number; text: string }>(run, "each")) found.push(one);
    return found;
  };

  it("give their results to later nodes in the order of the items, with null for a failure, also in a retry", async () => {
    broken.add(3);
    const tolerant = await submitCollected(40, "collect", 1);
    const all = Array.from({ length: 40 }, (_, n) => n);
    assert.deepEqual(
      (await client.workflows.waitFor(tolerant)).result,
      all.map((n) => (n === 3 ? null : n)),
    );
    const failed = await submitCollected(40, "collect");
    assert.equal((await client.workflows.waitFor(failed)).state, "DEAD");
    broken.clear();
    const { workflowId } = await client.workflows.retry(failed);
    assert.deepEqual((await client.workflows.waitFor(workflowId)).result, all);
    assert.ok((await items(workflowId)).length < 40, "the retry keeps items");
    assert.deepEqual(
      (await resultsOf(workflowId)).map(({ item, state, result }) => [item, state, result?.n]),
      all.map((n) => [n, "SUCCEEDED", n]),
    );
  });

  it("have results that are too large for a payload, which a handler reads by page", async () => {
    textChars = 150_000;
    const refused = await submitCollected(40, "collect");
    assert.equal((await client.workflows.waitFor(refused)).state, "DEAD");
    const [{ reason, error } = { reason: null, error: null }] = (await client.workflows.get(refused)).failed;
    assert.equal(reason, "REFERENCES_TOO_LARGE");
    assert.match(error?.message ?? "", new RegExp(`GET /v1/workflows/${refused}/results[?]node=each`));
    assert.equal((await client.workflows.waitFor(await submitCollected(40, "read"))).result, 40 * textChars);
    textChars = 0;
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
