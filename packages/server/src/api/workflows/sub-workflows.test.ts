import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { SUB_WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import { laneHash } from "../../domain/lane.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { decodeNodes } from "../../domain/workflow/stored-nodes.ts";
import { isTemplate } from "../../ports/references/template.ts";
import { WorkflowStage } from "./workflows.fixture.ts";

const target = { handler: "echo" };
const leaf = { name: "leaf", target, payload: { $from: "$input", path: ["file"] } };
const inner = { output: { $from: "leaf" }, nodes: [leaf] };
const report = { name: "report", workflow: inner, dependsOn: ["load"], payload: { file: { $from: "load" } } };
const load = { name: "load", target };

/** A node with workflows in it, the innermost of which has an echo. @param levels number of workflows in each other */
function nested(levels: number): { name: string; target?: object; workflow?: object } {
  if (levels === 0) return { name: "echo", target };
  return { name: `level-${levels}`, workflow: { nodes: [nested(levels - 1)] } };
}

let stage: WorkflowStage;
beforeEach(async () => (stage = await WorkflowStage.open()));
afterEach(() => stage.close());

const faults = async (workflow: object): Promise<string> => {
  const answer = await stage.submit(workflow);
  assert.equal(answer.statusCode, 400, answer.body);
  const { errors } = answer.json();
  return errors.map(({ field, message }: { field: string; message: string }) => `${field}: ${message}`).join("\n");
};

describe("a workflow with a sub-workflow", () => {
  it("is refused where the sub-workflow is wrong, with the way to the field and to the node", async () => {
    const within = (...nodes: object[]) => ({ nodes: [load, { name: "report", workflow: { nodes } }] });
    const wrong: [object, RegExp][] = [
      [
        within({ name: "a", target, dependsOn: ["b"] }, { name: "b", target, dependsOn: ["a"] }),
        /^nodes\[1\]\.workflow\.nodes\[0\]\.dependsOn\[0\]: node "report": node "a" depends on itself: a → b → a/,
      ],
      [within({ name: "a" }), /^nodes\[1\]\.workflow\.nodes\[0\]\.target: node "report": node "a": is missing/],
      [within({ name: "a", target, workflow: inner }), /target: .*cannot stand beside `workflow`/],
      [
        within({ name: "a", target: {} }),
        /^nodes\[1\]\.workflow\.nodes\[0\]\.target\.handler: node "report": node "a": /,
      ],
      [within(leaf), /workflow\.nodes\[0\]\.payload: .*\$input, and the workflow has no input/],
      [
        within({ name: "a", target, payload: { $from: "load" } }),
        /node "report": node "a": refers to "load", which is no node/,
      ],
      [{ nodes: [{ ...load, workflow: { nodes: [] } }] }, /^nodes\[0\]\.workflow\.nodes: /],
      [
        { nodes: [{ ...report, dependsOn: [], payload: 1, retryPolicy: { maxAttempts: 2 } }] },
        /retryPolicy: .*is for a node with/,
      ],
      [{ nodes: [nested(6)] }, /level-1": is more than 5 levels below the outermost workflow/],
      [
        { concurrencyKey: "k", ...within({ name: "a", target, concurrencyKey: "k" }) },
        /nodes\[0\]\.concurrencyKey: .*"k"/,
      ],
    ];
    for (const [workflow, text] of wrong) assert.match(await faults(workflow), text);
    assert.deepEqual((await stage.read("/v1/workflows")).items, []);
    assert.equal((await stage.submit({ nodes: [nested(5)] })).statusCode, 201);
  });

  it("is refused with more than 10,000 nodes in all", async () => {
    const many = Array.from({ length: 5_000 }, (_, i) => ({ name: `n${i}`, target }));
    const nodes = [
      { name: "one", workflow: { nodes: many } },
      { name: "two", workflow: { nodes: many } },
    ];
    assert.match(await faults({ nodes }), /^nodes\[1\]\.workflow: node "two": goes beyond the limit of 10000 nodes/);
  });

  it("is refused while a node of the cluster does not know sub-workflows", async () => {
    const old = { address: "old:1", version: "1.0.0", level: 2 };
    const cluster = await WorkflowStage.open((feature) => (feature === "SUB_WORKFLOWS" ? old : null));
    const answer = await cluster.submit({ nodes: [{ name: "report", workflow: { nodes: [load] } }] });
    assert.deepEqual([answer.statusCode, (await cluster.submit({ nodes: [load] })).statusCode], [409, 201]);
    assert.match(answer.json().detail, /old:1 .* does not know of sub-workflows/);
    await cluster.close();
  });

  it("waits for its owner if it begins with a sub-workflow, and warns of no worker for it", async () => {
    const answer = await stage.submit({ nodes: [{ name: "report", workflow: { nodes: [load] }, timeoutSec: 60 }] });
    const { state, executionIds, warnings } = answer.json();
    assert.deepEqual([state, executionIds, warnings], ["PENDING", {}, undefined]);
  });

  it("takes defaults from the workflow around it, and has its own first", async () => {
    const deep = { defaults: { timeoutSec: 7 }, nodes: [{ name: "a", target }] };
    const { workflowId } = await stage.submitted({
      defaults: { pool: "etl", timeoutSec: 5 },
      nodes: [load, { ...report, payload: null, priority: 8, workflow: deep }],
    });
    const run = await bornChild(workflowId);
    const [stored] = await stage.store.runs.load([run]);
    const [node] = decodeNodes(stored?.stored?.definitions ?? new Uint8Array());
    assert.deepEqual([node?.pool, node?.policy.timeoutMs, node?.priority], ["etl", 7_000, 8]);
    assert.equal(stored?.row.policy.timeoutMs, 365 * 86_400_000);
  });

  it("is shown with its parent, and its run with what the node gives it", async () => {
    const { workflowId } = await stage.submitted({ input: 1, nodes: [load, report] });
    await stage.ends(workflowId, 0, { result: Buffer.from('"f"') });
    const run = await bornChild(workflowId);
    const child = await stage.read(`/v1/workflows/${run}`);
    assert.deepEqual(child.parent, { workflowId, node: "report", item: null });
    assert.deepEqual([child.nodes, child.input, child.counts.BLOCKED], [1, { file: { $from: "load" } }, 1]);
    const { items } = await stage.read(`/v1/workflows/${workflowId}/nodes`);
    const ids = items.map(({ childWorkflowId }: { childWorkflowId: string | null }) => childWorkflowId);
    assert.deepEqual(ids, [null, run]);
    const list = async (query: string) =>
      (await stage.read(`/v1/workflows${query}`)).items.map(({ workflowId: id }: { workflowId: string }) => id);
    assert.deepEqual([await list(""), await list(`?parent=${workflowId}`)], [[workflowId], [run]]);
    const execution = await stage.read(`/v1/executions/${run}`);
    assert.deepEqual([execution.node, execution.handler], ["report", SUB_WORKFLOW_HANDLER]);
    const [payload] = (await stage.store.payloads([run])).values();
    assert.ok(payload !== undefined && isTemplate(payload));
    const signal = await stage.post(`/v1/workflows/${workflowId}/nodes/report/signals`, { name: "x" });
    assert.match(signal.json().detail, /runs a sub-workflow/);
    const retry = await stage.post(`/v1/workflows/${run}/retry`, {});
    assert.deepEqual([retry.statusCode, retry.json().detail.includes(workflowId)], [409, true], retry.body);
  });
});

/** Plays the owner that creates the run of the node 1. @returns its id */
async function bornChild(run: string): Promise<string> {
  const [parent] = await stage.store.runs.load([run]);
  const definition = decodeNodes(parent?.stored?.definitions ?? new Uint8Array())[1];
  assert.ok(parent !== undefined && definition?.workflow !== undefined);
  const id = nodeExecutionId(run, 1, null, 0);
  const { handler, pool, policy, priority } = definition;
  const own = { id, jobId: run, node: 1, handler, pool, policy, priority, startedAt: null };
  const row = { ...parent.row, ...own, state: "PENDING" as const, queue: "READY" as const };
  const birth = { row, laneHash: laneHash(row), createdAt: row.scheduledAt, after: [], workflow: definition.workflow };
  await stage.commit(run, { births: [birth] });
  return id;
}
