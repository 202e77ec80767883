import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { WorkflowStage } from "./workflows.fixture.ts";

const target = { handler: "echo" };

describe("submitting a workflow over HTTP", () => {
  let stage: WorkflowStage;
  before(async () => {
    stage = await WorkflowStage.open();
  });
  after(() => stage.close());

  it("starts a run, and creates executions of the nodes without dependencies", async () => {
    const answer = await stage.submit({
      name: "etl",
      labels: { team: "data" },
      timeoutSec: 600,
      defaults: { pool: "etl", retryPolicy: { maxAttempts: 2 } },
      nodes: [
        { name: "load", target, dependsOn: ["extract", { node: "check", when: "BRANCH:good" }] },
        { name: "extract", target: { handler: "extract", pool: "db" }, payload: { day: 1 } },
        { name: "check", target, priority: "HIGH" },
      ],
    });
    assert.equal(answer.statusCode, 201, answer.body);
    const { workflowId, executionIds, ...rest } = answer.json();
    assert.deepEqual([rest.state, rest.nodes], ["RUNNING", 3]);
    assert.deepEqual(Object.keys(executionIds).sort(), ["check", "extract"]);
    const extract = await stage.read(`/v1/executions/${executionIds.extract}`);
    assert.deepEqual([extract.pool, extract.handler, extract.maxAttempts], ["db", "extract", 2]);
    assert.deepEqual([extract.payload, extract.workflowId, extract.node], [{ day: 1 }, workflowId, "extract"]);
    const check = await stage.read(`/v1/executions/${executionIds.check}`);
    assert.deepEqual([check.pool, check.priority, check.trigger], ["etl", 7, "NODE"]);
    const run = await stage.read(`/v1/workflows/${workflowId}`);
    assert.equal(Date.parse(run.deadline) - Date.parse(run.createdAt), 600_000);
    assert.deepEqual([run.name, run.labels, run.mode], ["etl", { team: "data" }, "RUNNING"]);
  });

  it("gives the workflow's priority to nodes that have none, neither of their own nor by the defaults", async () => {
    const nodes = [
      { name: "plain", target },
      { name: "own", target, priority: 1 },
    ];
    const prioritiesOf = async (workflow: object) => {
      const { executionIds } = (await stage.submit({ ...workflow, nodes })).json();
      const read = (name: string) => stage.read(`/v1/executions/${executionIds[name]}`);
      return [(await read("plain")).priority, (await read("own")).priority];
    };
    assert.deepEqual(await prioritiesOf({ priority: "CRITICAL" }), [9, 1]);
    assert.deepEqual(await prioritiesOf({ priority: "CRITICAL", defaults: { priority: 3 } }), [3, 1]);
  });

  it("answers a repeat with the same key as the first request, and writes nothing", async () => {
    const workflow = { name: "repeated", nodes: [{ name: "a", target }] };
    const headers = { "idempotency-key": "k1" };
    const first = await stage.submit(workflow, headers);
    const again = await stage.submit(workflow, headers);
    assert.deepEqual([again.statusCode, again.headers["idempotent-replayed"]], [201, "true"], again.body);
    assert.deepEqual(again.json(), first.json());
    assert.equal((await stage.read("/v1/workflows?name=repeated")).items.length, 1);
    const other = await stage.submit({ ...workflow, name: "other" }, headers);
    assert.equal(other.statusCode, 422);
  });

  it("writes nothing while another run holds the unique key", async () => {
    const workflow = { name: "unique", uniqueKey: "u", nodes: [{ name: "a", target }] };
    const { workflowId, jobId } = await stage.submitted(workflow);
    const answer = await stage.submit(workflow);
    assert.deepEqual([answer.statusCode, answer.json()], [200, { workflowId, jobId, deduplicated: true }]);
    assert.equal((await stage.read("/v1/workflows?name=unique")).items.length, 1);
  });

  const node = (name: string, ...dependsOn: unknown[]) => ({ name, target, dependsOn });
  const refusals: [what: string, nodes: unknown[], field: string, message: RegExp][] = [
    ["no node", [], "nodes", /./],
    ["a cycle", [node("a", "b"), node("b", "a"), node("c")], "nodes[0].dependsOn[0]", /"a".*a → b → a/],
    ["an unknown parent", [node("a"), node("b", "a", "x")], "nodes[1].dependsOn[1]", /"b".*"x"/],
    ["a dependency on itself", [node("a"), node("b", "b")], "nodes[1].dependsOn[0]", /"b" depends on itself/],
    ["two nodes of a name", [node("a"), node("b"), node("a")], "nodes[2].name", /"a"/],
    ["a dependency twice", [node("a"), node("b", "a", { node: "a" })], "nodes[1].dependsOn[1]", /"b".*twice/],
    ["a condition that is none", [node("a"), node("b", { node: "a", when: "DONE" })], "nodes[1].dependsOn[0]", /"b"/],
    ["a name with a space", [node("a b")], "nodes[0].name", /"a b"/],
    ["a field of a later step", [{ ...node("a"), runAt: "2030-01-01T00:00:00Z" }], "nodes[0].runAt", /"a"/],
    ["a handler that is missing", [node("a"), { name: "b", target: {} }], "nodes[1].target.handler", /"b"/],
    [
      "a policy that contradicts itself",
      [{ ...node("a"), retryPolicy: { initialDelayMs: 9, maxDelayMs: 1 } }],
      "nodes[0].retryPolicy.maxDelayMs",
      /"a"/,
    ],
    ["a node without a form", [7], "nodes[0]", /./],
  ];
  for (const [what, nodes, field, message] of refusals) {
    it(`refuses ${what}, names the node, and writes nothing`, async () => {
      const answer = await stage.submit({ name: "refused", nodes });
      assert.equal(answer.statusCode, 400, answer.body);
      const [error] = answer.json().errors;
      assert.ok(error.field.startsWith(field), answer.body);
      assert.match(error.message, message);
      assert.deepEqual((await stage.read("/v1/workflows?name=refused")).items, []);
    });
  }

  it("refuses a payload that is too large, and fields that are not known", async () => {
    const large = await stage.submit({ nodes: [node("a"), { ...node("b"), payload: "x".repeat(1_048_577) }] });
    assert.deepEqual([large.statusCode, large.json().errors[0].field], [413, "nodes[1].payload"]);
    assert.match(large.json().errors[0].message, /"b"/);
    for (const field of ["type", "maxRunning", "maxLifetimeSec"]) {
      const answer = await stage.submit({ [field]: "x", nodes: [node("a")] });
      assert.deepEqual([answer.statusCode, answer.json().errors[0].field], [400, field]);
    }
  });

  it("refuses defaults that contradict each other", async () => {
    const defaults = { retryPolicy: { initialDelayMs: 9, maxDelayMs: 1 } };
    const answer = await stage.submit({ defaults, nodes: [node("a")] });
    assert.deepEqual([answer.statusCode, answer.json().errors[0].field], [400, "defaults.retryPolicy.maxDelayMs"]);
  });

  it("takes a node that waits for 9,999 others, in turns of the event loop", async () => {
    const parents = Array.from({ length: 9_999 }, (_, index) => `${"parent".padEnd(50, "-")}${index}`);
    const last = { name: "last", target, dependsOn: parents.map((name) => ({ node: name, when: "FINISHED" })) };
    const nodes = [...parents.map((name) => ({ name, target })), last];
    const text = JSON.stringify({ name: "wide", nodes });
    const turns = watchTurns();
    const answer = await stage.submit(text).finally(() => turns.stop());
    assert.equal(answer.statusCode, 201, answer.body);
    assert.equal(Object.keys(answer.json().executionIds).length, 1_000);
    turns.assertShort();
    const node = await stage.read(`/v1/workflows/${answer.json().workflowId}/nodes/last`);
    assert.deepEqual([node.state, node.blockedBy.open, node.blockedBy.first.length], ["BLOCKED", 9_999, 20]);
  });

  it("takes 10,000 nodes with 100,000 edges in turns of the event loop", async () => {
    const nodes = Array.from({ length: 10_000 }, (_, index) => {
      const parents = index < 100 ? 0 : 10;
      const dependsOn = Array.from({ length: parents }, (_, edge) => `node-${index - 100 + 7 * edge}`);
      return { name: `node-${index}`, target, payload: { index }, dependsOn };
    });
    const text = JSON.stringify({ name: "large", nodes });
    const turns = watchTurns();
    const answer = await stage.submit(text).finally(() => turns.stop());
    assert.equal(answer.statusCode, 201, answer.body);
    assert.equal(answer.json().nodes, 10_000);
    turns.assertShort();
  });
});

describe("submitting a workflow while a node of the cluster knows none", () => {
  it("is refused", async () => {
    const stage = await WorkflowStage.open(() => ({ address: "10.0.0.1", version: "0.1.0", level: 2 }));
    const answer = await stage.submit({ nodes: [{ name: "a", target }] });
    assert.equal(answer.statusCode, 409, answer.body);
    assert.match(answer.json().detail, /workflows/);
    await stage.close();
  });
});

/** Longest turn of the event loop in milliseconds of CPU, on a machine that does all of the work in 250 ms of CPU. */
const TURN_MAX_MS = 50;
const USUAL_TOTAL_MS = 250;

/**
 * Measures the turns of the event loop by the CPU time of its own thread, which leaves out V8's helper threads. A machine
 * that needs more CPU for the whole of the work may need more for a turn, in proportion.
 */
function watchTurns(): { stop(): void; assertShort(): void } {
  let longestMs = 0;
  let totalMs = 0;
  let before = process.threadCpuUsage();
  let isOver = false;
  const turn = () => {
    const { user, system } = process.threadCpuUsage(before);
    const tookMs = (user + system) / 1_000;
    longestMs = Math.max(longestMs, tookMs);
    totalMs += tookMs;
    before = process.threadCpuUsage();
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    stop: () => {
      isOver = true;
    },
    assertShort: () => {
      const slowness = Math.max(1, totalMs / USUAL_TOTAL_MS);
      assert.ok(longestMs < TURN_MAX_MS * slowness, `a turn took ${longestMs} of ${totalMs} ms of CPU`);
    },
  };
}
