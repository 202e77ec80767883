import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { WORKFLOW_LIVE_MAX } from "@mainspring/contract/limits";
import { laneHash } from "../../domain/lane.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { LIVE_MAX } from "../../engine/runs/limits.ts";
import { firstChange } from "../../ports/conformance/store-scene.conformance.ts";
import { decodeTemplate } from "../../ports/references/template.ts";
import { WorkflowStage } from "./workflows.fixture.ts";

const target = { handler: "echo" };
const error = { name: "Error", message: "no disk" };
const etl = {
  input: { files: ["a", "b", "c", "d"] },
  nodes: [
    { name: "first", target },
    {
      ...{ name: "each", target, dependsOn: ["first"], map: { $from: "$input", path: ["files"] } },
      ...{ payload: { file: { $item: true }, n: { $index: true } }, maxRunning: 2, tolerate: { failures: 0 } },
    },
    { name: "last", target, dependsOn: ["each"] },
  ],
};

let stage: WorkflowStage;
beforeEach(async () => (stage = await WorkflowStage.open()));
afterEach(() => stage.close());

describe("a workflow with a map", () => {
  it("has by default as many live items as its run may have", () => {
    assert.equal(WORKFLOW_LIVE_MAX, LIVE_MAX);
  });

  it("is refused where the map or its payload is wrong, with the field and the node", async () => {
    const [first, each, last] = etl.nodes as [object, object, object];
    const faults = async (nodes: object[], input: object | null = etl.input) => {
      const answer = await stage.submit(input === null ? { nodes } : { input, nodes });
      assert.equal(answer.statusCode, 400, answer.body);
      return answer
        .json()
        .errors.map(({ field, message }: { field: string; message: string }) => `${field}: ${message}`);
    };
    const wrong: [object[], RegExp][] = [
      [[first, { ...each, map: { $from: "nobody" } }, last], /nodes\[1\].map: .*"nobody", which is no node/],
      [
        [first, { ...each, map: { $from: "last" } }, last],
        /nodes\[1\].*refers to "last", which need not end before it/,
      ],
      [[{ ...first, maxRunning: 3 }], /nodes\[0\].maxRunning: .*is for a node with map/],
      [[{ ...first, tolerate: { failures: 3 } }], /nodes\[0\].tolerate: .*is for a node with map/],
      [[{ ...first, payload: { $item: true } }], /nodes\[0\].payload: .*\$item or \$index, and the node has no map/],
      [
        [first, each, { ...last, payload: { $from: "each" } }],
        /nodes\[2\].payload: .*"each", which is a map .*: \{"\$results": …\}/,
      ],
      [[first, each, { ...last, payload: { $results: "nobody" } }], /nodes\[2\].payload: .*"nobody", which is no node/],
      [
        [first, each, { ...last, payload: [{ $results: "first" }] }],
        /nodes\[2\].payload: .*the results of "first", which is no map: \{"\$from": "first"\}/,
      ],
      [
        [first, each, { name: "other", target, payload: { $results: "each" } }],
        /nodes\[2\].*refers to "each", which need not end before it/,
      ],
      [
        [first, { ...each, payload: { $results: "each" } }],
        /nodes\[1\].*refers to "each", which need not end before it/,
      ],
      [[first, { ...each, maxRunning: 4_001 }, last], /nodes\[1\].maxRunning/],
    ];
    for (const [nodes, text] of wrong) assert.match((await faults(nodes)).join("\n"), text);
    assert.match(
      (await faults(etl.nodes, null)).join("\n"),
      /nodes\[1\].map: .*\$input, and the workflow has no input/,
    );
  });

  it("that begins with the map waits for its owner, which counts the items", async () => {
    const answer = await stage.submit({ input: [1, 2], nodes: [{ name: "each", target, map: "$input" }] });
    assert.deepEqual([answer.statusCode, answer.json().state, answer.json().executionIds], [201, "PENDING", {}]);
    const [row] = await stage.store.load([answer.json().workflowId]);
    assert.deepEqual([row?.state, row?.queue], ["PENDING", "READY"]);
  });
});

it("keeps the results of a map in payloads and the output as references to the map", async () => {
  const [first, each, last] = etl.nodes as [object, object, object];
  const nodes = [first, each, { ...last, payload: { parts: { $results: "each" } } }];
  const { workflowId } = await stage.submitted({ ...etl, nodes, output: { $results: "each" } });
  const [loaded] = await stage.store.runs.load([workflowId]);
  const output = decodeTemplate(loaded?.stored?.output as Uint8Array);
  assert.deepEqual(output.edits, [{ at: { start: 0, end: 19 }, depth: 0, results: 1 }]);
});

describe("a run with a map", () => {
  let run: string;
  beforeEach(async () => {
    run = (await stage.submitted(etl)).workflowId;
    await stage.ends(run, 0);
  });

  const id = (item: number) => nodeExecutionId(run, 1, item, 0);
  /** Plays the owner that counts the items and creates some of them. */
  const counts = async (items: number, born: number[], wasRevision = 1) => {
    const [row] = await stage.store.load([run]);
    assert.ok(row);
    const change = { run, wasRevision, revision: wasRevision + 1, mode: "RUNNING", paused: false } as const;
    const own = { jobId: run, node: 1, handler: "echo", state: "PENDING", queue: "READY", startedAt: null } as const;
    const births = born.map((item) => {
      const created = { ...row, ...own, id: id(item), item };
      return { row: created, laneHash: laneHash(created), createdAt: row.dueAt, after: [] };
    });
    await stage.commit(run, { runs: [{ ...change, mapCounts: [{ node: 1, items }] }], births });
  };
  const ends = (item: number, state: "SUCCEEDED" | "DEAD", result: Buffer | null = null) => {
    const isDead = state === "DEAD";
    const end = { state, attempt: 1, queue: "NONE", finishedAt: 5, error: isDead ? error : null, result } as const;
    return stage.commit(run, { changes: [firstChange({ id: id(item), rank: 1, dueAt: 1 }, end)] });
  };
  const node = (of = run) => stage.read(`/v1/workflows/${of}/nodes/each`);
  const reasons = async () => (await stage.read(`/v1/workflows/${run}/nodes/each/explain`)).reasons;

  it("shows how far the map is, and why it waits", async () => {
    assert.deepEqual(await reasons(), [{ reason: "ITEMS_BEING_COUNTED" }]);
    assert.equal((await node()).items.total, null);
    await counts(4, [0, 1]);
    await ends(0, "SUCCEEDED");
    const { state, executionId, items } = await node();
    assert.deepEqual([state, executionId, items.total, items.SUCCEEDED, items.PENDING], ["RUNNING", null, 4, 1, 1]);
    assert.deepEqual(await reasons(), [{ reason: "MAP_ITEMS_RUN", live: 1, unborn: 2, limit: 2 }]);
    assert.equal((await stage.read(`/v1/workflows/${run}/nodes/last`)).state, "BLOCKED");
  });

  it("lists the items by pages, and by state", async () => {
    await counts(4, [0, 1, 2, 3]);
    await ends(1, "DEAD");
    assert.deepEqual(await reasons(), [{ reason: "MAP_ITEMS_RUN", live: 3, unborn: 0, limit: 2 }]);
    const url = `/v1/workflows/${run}/nodes/each/items`;
    const first = await stage.read(`${url}?limit=3`);
    assert.deepEqual(
      first.items.map(({ item, executionId, state }: { item: number; executionId: string; state: string }) => [
        item,
        executionId,
        state,
      ]),
      [0, 1, 2].map((item) => [item, id(item), item === 1 ? "DEAD" : "PENDING"]),
    );
    const rest = await stage.read(`${url}?limit=3&cursor=${first.nextCursor}`);
    assert.deepEqual([rest.items.length, rest.items[0].item, rest.nextCursor], [1, 3, null]);
    const dead = await stage.read(`${url}?state=DEAD`);
    assert.deepEqual([dead.items.length, dead.items[0].error], [1, error]);
    const other = await stage.get(`/v1/workflows/${run}/nodes/first/items`);
    assert.deepEqual([other.statusCode, other.json().detail], [409, "the node is no map: it has no items"]);
    assert.equal((await stage.get(`/v1/workflows/${run}/nodes/nobody/items`)).statusCode, 404);
  });

  /** Lines of an answer with results. */
  const results = async (query = "", of = run) => {
    const answer = await stage.get(`/v1/workflows/${of}/results?node=each${query}`);
    assert.deepEqual([answer.statusCode, answer.headers["content-type"]], [200, "application/x-ndjson"]);
    assert.ok(answer.body === "" || answer.body.endsWith("\n"));
    return answer.body.split("\n").slice(0, -1);
  };
  const result = (item: number, state: string | null, json: string, executionId: string | null = id(item)) => {
    return `${JSON.stringify({ item, executionId, state }).slice(0, -1)},"result":${json}}`;
  };

  it("gives the results of its items line by line, as the handlers returned them", async () => {
    assert.deepEqual(await results(), [], "the items are not counted");
    await counts(5, [0, 1, 2, 3]);
    await ends(0, "SUCCEEDED", Buffer.from('{"rows": [12345678901234567890,\r\n1.50], "a": "\\n"}'));
    await ends(2, "DEAD");
    await ends(3, "SUCCEEDED");
    const all = [
      result(0, "SUCCEEDED", '{"rows": [12345678901234567890,  1.50], "a": "\\n"}'),
      result(1, null, "null"),
      result(2, "DEAD", "null"),
      result(3, "SUCCEEDED", "null"),
      result(4, null, "null", null),
    ];
    assert.deepEqual(await results(), all);
    assert.deepEqual(await results("&from=1&limit=3"), all.slice(1, 4));
    assert.deepEqual(await results("&from=4&limit=1000"), all.slice(4));
    assert.deepEqual(await results("&from=5"), []);
    const refused = async (query: string) => (await stage.get(`/v1/workflows/${run}/results${query}`)).statusCode;
    assert.deepEqual(
      await Promise.all(
        ["?node=first", "?node=nobody", "", "?node=each&from=-1", "?node=each&limit=1001"].map(refused),
      ),
      [409, 404, 400, 400, 400],
    );
  });

  it("ends an answer with results after 4 MiB of them", async () => {
    await counts(7, [0, 1, 2, 3, 4, 5, 6]);
    const large = Buffer.from(JSON.stringify("x".repeat(1_000_000)));
    for (const item of [0, 1, 2, 3, 4, 5, 6]) await ends(item, "SUCCEEDED", large);
    const first = await results();
    assert.equal(first.length, 5);
    assert.deepEqual(
      [first, await results("&from=5")].flat(),
      [0, 1, 2, 3, 4, 5, 6].map((item) => result(item, "SUCCEEDED", large.toString())),
    );
  });

  it("gives results that a retry keeps from the earlier run", async () => {
    await counts(3, [0, 1, 2]);
    for (const item of [0, 2]) await ends(item, "SUCCEEDED", Buffer.from(String(item)));
    await ends(1, "DEAD");
    await stage.runEnds(run, { state: "DEAD", reason: "NODE_DEAD", error });
    const { workflowId } = (await stage.post(`/v1/workflows/${run}/retry`)).json();
    const kept = [result(0, "SUCCEEDED", "0"), result(1, null, "null", null), result(2, "SUCCEEDED", "2")];
    assert.deepEqual(await results("", workflowId), kept);
  });

  it("tells why the items could not be counted", async () => {
    const [row] = await stage.store.load([run]);
    assert.ok(row);
    const failure = {
      reason: "ITEMS_NOT_AN_ARRAY",
      error: { name: "ItemsNotAnArray", message: "7 is no array" },
    } as const;
    const change = { run, wasRevision: 1, revision: 2, mode: "FAILING", paused: false } as const;
    await stage.commit(run, { runs: [{ ...change, mapCounts: [{ node: 1, items: failure }] }] });
    const { state, reason, error: shown } = await node();
    assert.deepEqual([state, reason, shown], ["DEAD", failure.reason, failure.error]);
    assert.deepEqual(await reasons(), [{ reason: "FINAL", state: "DEAD", why: "7 is no array", finishedAt: null }]);
  });

  it("refuses a signal to the map, and says where signals to its items go", async () => {
    const answer = await stage.post(`/v1/workflows/${run}/nodes/each/signals`, { name: "go", id: "1" });
    assert.equal(answer.statusCode, 409, answer.body);
    assert.match(answer.json().detail, /is a map.*\/v1\/executions\/\{executionId\}\/signals/);
  });

  it("that has failed is retried with the items that have not SUCCEEDED, and again", async () => {
    await counts(4, [0, 1, 2, 3]);
    for (const item of [0, 1, 3]) await ends(item, "SUCCEEDED");
    await ends(2, "DEAD");
    await stage.runEnds(run, { state: "DEAD", reason: "NODE_DEAD", error });
    const itemsDead = { name: "ItemsDead", message: "1 of its items is DEAD, and it tolerates 0" };
    const { failed } = await stage.read(`/v1/workflows/${run}`);
    const ofMap = { executionId: null, attempt: 0, reason: null, error: itemsDead, finishedAt: null };
    assert.deepEqual(failed, [{ name: "each", ...ofMap }]);
    assert.deepEqual((await node()).error, itemsDead);
    const answer = await stage.post(`/v1/workflows/${run}/retry`);
    assert.equal(answer.statusCode, 201, answer.body);
    const { workflowId, state } = answer.json();
    assert.equal(state, "PENDING");
    const { items } = await node(workflowId);
    assert.deepEqual([items.total, items.kept], [4, 3]);
    const [loaded] = await stage.store.runs.load([workflowId]);
    assert.deepEqual(loaded?.mapCounts, [{ node: 1, items: 4 }]);
    assert.deepEqual(loaded?.kept, [{ run, nodes: [[0, null]], items: [[1, "0-1,3"]] }]);
  });

  it("whose map has succeeded keeps it whole in a retry from a later node", async () => {
    await counts(2, [0, 1]);
    for (const item of [0, 1]) await ends(item, "SUCCEEDED");
    await stage.bears(run, 2, "echo");
    await stage.ends(run, 2, { state: "DEAD", error, ended: [], failures: 1 });
    await stage.runEnds(run, { state: "DEAD", reason: "NODE_DEAD", error });
    const answer = await stage.post(`/v1/workflows/${run}/retry`);
    assert.equal(answer.statusCode, 201, answer.body);
    const { workflowId, executionIds } = answer.json();
    assert.deepEqual(executionIds, { last: nodeExecutionId(workflowId, 2, null, 0) });
    const { state, keptFrom } = await node(workflowId);
    assert.deepEqual([state, keptFrom], ["SUCCEEDED", { workflowId: run, executionId: null }]);
  });

  it("whose map has succeeded without items keeps it in a retry, and in a retry of the retry", async () => {
    await counts(0, []);
    let failed = run;
    for (const _ of [1, 2]) {
      if (failed === run) await stage.bears(run, 2, "echo");
      await stage.ends(failed, 2, { state: "DEAD", error, ended: [], failures: 1 });
      await stage.runEnds(failed, { state: "DEAD", reason: "NODE_DEAD", error });
      const answer = await stage.post(`/v1/workflows/${failed}/retry`);
      assert.equal(answer.statusCode, 201, answer.body);
      failed = answer.json().workflowId;
      const { state, keptFrom } = await node(failed);
      assert.deepEqual([state, keptFrom], ["SUCCEEDED", { workflowId: run, executionId: null }]);
    }
  });
});
