import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { compensationOf } from "../../domain/workflow/compensation-number.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { submittedText } from "../../ports/references/template.ts";
import { WorkflowStage } from "./workflows.fixture.ts";

const target = { handler: "echo" };
const undo = { target: { handler: "undo" } };
const error = { name: "Error", message: "no money" };
const dead = { state: "DEAD", error, ended: [], failures: 1 } as const;
const OUTCOME = { state: "DEAD", reason: "NODE_DEAD", error } as const;
const chain = [
  { name: "a", target, compensate: undo },
  { name: "b", target, dependsOn: ["a"], compensate: undo },
  { name: "c", target, dependsOn: ["b"] },
];

describe("the compensation of a workflow", () => {
  let stage: WorkflowStage;
  beforeEach(async () => {
    stage = await WorkflowStage.open();
  });
  afterEach(() => stage.close());

  const faults = async (workflow: object) => {
    const answer = await stage.submit(workflow);
    assert.ok(answer.statusCode === 400 || answer.statusCode === 413, answer.body);
    return answer.json().errors.map((fault: { field: string; message: string }) => `${fault.field}: ${fault.message}`);
  };
  const payloadOf = async (run: string, node: number) => {
    const payloads = await stage.store.payloads([nodeExecutionId(run, compensationOf(node), null, 0)]);
    const [payload] = payloads.values();
    return payload === undefined ? null : Buffer.from(submittedText(payload)).toString();
  };
  /** Plays an owner that ends a and b, fails at c, and begins the compensation. */
  const fails = async () => {
    const { workflowId: run } = await stage.submitted({ nodes: chain });
    await stage.ends(run, 0);
    for (const node of [1, 2]) await stage.bears(run, node, "echo");
    await stage.ends(run, 1);
    await stage.ends(run, 2, dead);
    const change = { run, wasRevision: 1, revision: 2, mode: "FAILING", paused: false, outcome: OUTCOME } as const;
    await stage.commit(run, { runs: [change] });
    return run;
  };
  const statesOf = async (run: string) => {
    const { items } = await stage.read(`/v1/workflows/${run}/nodes`);
    return items.map((node: { compensation: { state: string } | null }) => node.compensation?.state ?? null);
  };
  const undoes = async (run: string, node: number, change: object = {}) => {
    await stage.bears(run, compensationOf(node), "undo");
    await stage.ends(run, compensationOf(node), change);
  };

  it("is refused with the node and the place of the fault", async () => {
    const first = (compensate: unknown) => ({ nodes: [{ name: "a", target, compensate }, chain[2]] });
    assert.match((await faults(first({})))[0], /^nodes\[0\]\.compensate\.target: node "a": is missing/);
    assert.match((await faults(first({ ...undo, dependsOn: [] })))[0], /^nodes\[0\]\.compensate\.dependsOn: node "a"/);
    const never = await faults({ compensate: "NEVER", nodes: [chain[0]] });
    assert.deepEqual(never, [
      'nodes[0].compensate: node "a": is declared, and `compensate` of the workflow is NEVER: leave out one of the two',
    ]);
    const late = { ...undo, payload: { $from: "b" } };
    assert.deepEqual(await faults({ nodes: [{ ...chain[0], compensate: late }, chain[1]] }), [
      'nodes[0].compensate.payload: node "a": refers to "b", which need not end before it: only the node itself and the nodes ' +
        "before it have results for it",
    ]);
    const self = { name: "a", target, payload: { $from: "a" } };
    assert.match((await faults({ nodes: [self] }))[0], /^nodes\[0\]\.payload: .*only the nodes before a node/);
    const timeout = { ...undo, timeoutSec: -1 };
    assert.match((await faults(first(timeout)))[0], /^nodes\[0\]\.compensate\.timeoutSec: node "a"/);
    assert.match((await faults({ compensate: "ALWAYS", nodes: chain }))[0], /^compensate: /);
    assert.deepEqual((await stage.read("/v1/workflows")).items, []);
  });

  it("is refused for a map, with the node", async () => {
    const map = { name: "each", target, map: "$input", compensate: undo };
    assert.deepEqual(
      await faults({ input: [1, 2], nodes: [chain[2], map].map((node) => ({ ...node, dependsOn: [] })) }),
      ['nodes[1].compensate: node "each": a map cannot have `compensate`: compensate in a node after it'],
    );
  });

  it("gets the payload and the result of its node and the input by default, and else its own payload as it was sent", async () => {
    const own = '{"n": 12345678901234567890, "id": {"$from": "a", "path": ["id"]}}';
    const text = `{"input": 1, "nodes": [
      {"name": "a", "target": {"handler": "echo"}, "payload": [1.50, {"$from": "$input"}], "compensate": {"target": {"handler": "undo"}}},
      {"name": "b", "target": {"handler": "echo"}, "dependsOn": ["a"], "compensate": {"payload": ${own}, "target": {"handler": "undo"}}}
    ]}`;
    const { workflowId: run } = await stage.submitted(text);
    await stage.bears(run, compensationOf(0), "undo");
    await stage.bears(run, compensationOf(1), "undo");
    const whole = '{"payload":[1.50, {"$from": "$input"}],"result":{"$from":"a"},"input":{"$from":"$input"}}';
    assert.deepEqual([await payloadOf(run, 0), await payloadOf(run, 1)], [whole, own]);
  });

  it("is refused where the default payload would be too large", async () => {
    const node = { ...chain[0], payload: "x".repeat(1024 * 1024 - 10) };
    assert.match((await faults({ nodes: [node] }))[0], /^nodes\[0\]\.compensate\.payload: node "a": is left out/);
  });

  it("is shown by the run, its nodes, its graph and their explanations", async () => {
    const run = await fails();
    assert.deepEqual(await statesOf(run), ["BLOCKED", "PENDING", null]);
    const [listed] = (await stage.read("/v1/workflows")).items;
    const { mode, compensate } = await stage.read(`/v1/workflows/${run}`);
    assert.deepEqual([listed.mode, mode, compensate], ["COMPENSATING", "COMPENSATING", "ON_FAILURE"]);
    await undoes(run, 1);
    assert.deepEqual(await statesOf(run), ["PENDING", "SUCCEEDED", null]);
    const { compensation } = await stage.read(`/v1/workflows/${run}/nodes/a/explain`);
    assert.deepEqual(compensation, {
      ...{ state: "PENDING", executionId: null, reasons: [{ reason: "EXECUTION_AWAITED", live: 0 }] },
    });
    const mermaid = (await stage.get(`/v1/workflows/${run}/graph?format=mermaid`)).body;
    assert.match(mermaid, /n1\["b<br\/>SUCCEEDED<br\/>compensation SUCCEEDED"\]/);
    const dot = (await stage.get(`/v1/workflows/${run}/graph?format=dot`)).body;
    assert.match(dot, /label="b\\nSUCCEEDED\\ncompensation SUCCEEDED"/);
    const execution = await stage.read(`/v1/executions/${nodeExecutionId(run, compensationOf(1), null, 0)}`);
    assert.deepEqual([execution.workflowId, execution.node], [run, "b"]);
  });

  it("is not cancelled with its run", async () => {
    const run = await fails();
    const answer = await stage.post(`/v1/workflows/${run}/cancel`);
    assert.deepEqual([answer.statusCode, answer.json().type.includes("wrong-state")], [409, true]);
  });

  it("runs the nodes again that were undone", async () => {
    const run = await fails();
    await undoes(run, 1);
    await undoes(run, 0);
    await stage.runEnds(run, OUTCOME);
    const answer = await stage.post(`/v1/workflows/${run}/retry`);
    assert.deepEqual(Object.keys(answer.json().executionIds), ["a"]);
  });

  it("of a retry that ended before its map was counted leaves the answer to a repeat as it was", async () => {
    const map = { name: "each", target, map: "$input", dependsOn: ["a"] };
    const { workflowId: run } = await stage.submitted({ input: [1], nodes: [chain[0], map] });
    await stage.ends(run, 0);
    await stage.runEnds(run, { state: "CANCELLED" });
    const headers = { "idempotency-key": "again" };
    const answer = await stage.post(`/v1/workflows/${run}/retry`, undefined, headers);
    const { workflowId, state } = answer.json();
    assert.deepEqual([answer.statusCode, state], [201, "PENDING"]);
    const outcome = { state: "CANCELLED", reason: null, error: null } as const;
    const change = {
      run: workflowId,
      wasRevision: 1,
      revision: 2,
      mode: "CANCELLING",
      paused: false,
      outcome,
    } as const;
    await stage.commit(workflowId, { runs: [change] });
    assert.deepEqual((await stage.post(`/v1/workflows/${run}/retry`, undefined, headers)).json(), answer.json());
  });

  it("goes on in a retry where it has failed", async () => {
    const run = await fails();
    await undoes(run, 1, dead);
    await stage.runEnds(run, { state: "DEAD", reason: "COMPENSATION_FAILED", error });
    assert.deepEqual(await statesOf(run), ["SKIPPED", "DEAD", null]);
    const { failedCompensations } = await stage.read(`/v1/workflows/${run}`);
    assert.deepEqual(
      failedCompensations.map(({ name }: { name: string }) => name),
      ["b"],
    );
    const headers = { "idempotency-key": "again" };
    const answer = await stage.post(`/v1/workflows/${run}/retry`, undefined, headers);
    const { workflowId, executionIds } = answer.json();
    assert.deepEqual([answer.statusCode, executionIds], [201, {}]);
    assert.deepEqual(await statesOf(workflowId), ["BLOCKED", "PENDING", null]);
    assert.deepEqual((await stage.post(`/v1/workflows/${run}/retry`, undefined, headers)).json(), answer.json());
    const [read] = await stage.store.runs.load([workflowId]);
    assert.deepEqual([read?.outcome, read?.executions.map(({ node }) => node)], [OUTCOME, [compensationOf(1)]]);
  });
});
