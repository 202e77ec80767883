import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { playOwner } from "../api.fixture.ts";
import { WorkflowStage } from "./workflows.fixture.ts";

const target = { handler: "echo" };
const diamond = {
  onFailure: "CONTINUE",
  nodes: [
    { name: "a", target },
    { name: "b", target },
    { name: "both", target, dependsOn: ["a", "b"] },
    { name: "alarm", target, dependsOn: [{ node: "a", when: "FAILED" }] },
    { name: "last", target, dependsOn: ["alarm"] },
  ],
};

describe("reading workflows over HTTP", () => {
  let stage: WorkflowStage;
  let run: string;
  before(async () => {
    stage = await WorkflowStage.open();
    run = (await stage.submitted(diamond)).workflowId;
  });
  after(() => stage.close());

  const error = { name: "Error", message: "no disk" };

  it("shows blocked nodes with their open parents", async () => {
    const { counts, failed, state } = await stage.read(`/v1/workflows/${run}`);
    assert.deepEqual([state, counts.PENDING, counts.BLOCKED, failed], ["RUNNING", 2, 3, []]);
    const both = await stage.read(`/v1/workflows/${run}/nodes/both`);
    assert.deepEqual([both.state, both.executionId, both.attempt], ["BLOCKED", null, 0]);
    assert.deepEqual(both.blockedBy, { open: 2, first: ["a", "b"] });
    const explained = await stage.read(`/v1/workflows/${run}/nodes/both/explain`);
    assert.deepEqual(explained.reasons, [{ reason: "PARENTS_OPEN", open: 2, first: ["a", "b"] }]);
    const root = await stage.read(`/v1/workflows/${run}/nodes/a/explain`);
    assert.deepEqual(root.executionId, nodeExecutionId(run, 0, null, 0));
  });

  it("shows a state that follows from ends, also of nodes that never get an execution", async () => {
    await stage.ends(run, 0);
    const states = (await stage.read(`/v1/workflows/${run}/nodes`)).items.map((node: { state: string }) => node.state);
    assert.deepEqual(states, ["SUCCEEDED", "PENDING", "BLOCKED", "SKIPPED", "SKIPPED"]);
    const { because, state } = await stage.read(`/v1/workflows/${run}/nodes/alarm`);
    assert.equal(state, "SKIPPED");
    const dependencies = [{ node: "a", when: "FAILED", state: "SUCCEEDED" }];
    assert.deepEqual(because, { kind: "DEPENDENCIES", dependencies });
    const explained = await stage.read(`/v1/workflows/${run}/nodes/alarm/explain`);
    assert.match(explained.reasons[0].why, /a is SUCCEEDED, not FAILED/);
  });

  it("shows errors of nodes that are DEAD", async () => {
    await stage.ends(run, 1, { state: "DEAD", error, ended: [], failures: 1 });
    const { counts, failed } = await stage.read(`/v1/workflows/${run}`);
    assert.deepEqual([counts.DEAD, counts.SKIPPED, counts.BLOCKED], [1, 3, 0]);
    assert.deepEqual([failed[0].name, failed[0].error], ["b", error]);
  });

  it("lists nodes by state and in pages", async () => {
    const first = await stage.read(`/v1/workflows/${run}/nodes?state=SKIPPED&limit=2`);
    assert.deepEqual(
      first.items.map(({ name }: { name: string }) => name),
      ["both", "alarm"],
    );
    const rest = await stage.read(`/v1/workflows/${run}/nodes?state=SKIPPED&limit=2&cursor=${first.nextCursor}`);
    assert.deepEqual([rest.items.length, rest.items[0].name, rest.nextCursor], [1, "last", null]);
    assert.equal((await stage.get(`/v1/workflows/${run}/nodes?cursor=x`)).statusCode, 400);
  });

  it("draws the graph", async () => {
    const { nodes } = await stage.read(`/v1/workflows/${run}/graph`);
    assert.deepEqual(nodes[3].dependsOn, [{ node: "a", when: "FAILED" }]);
    const mermaid = (await stage.get(`/v1/workflows/${run}/graph?format=mermaid`)).body;
    assert.match(mermaid, /^flowchart LR\n[^]*n0 -->\|"FAILED"\| n3\n/);
    const dot = (await stage.get(`/v1/workflows/${run}/graph?format=dot`)).body;
    assert.match(dot, /n0 -> n3 \[label="FAILED"\];/);
  });

  it("lists runs by state and name in pages", async () => {
    for (let count = 0; count < 3; count++) await stage.submitted({ name: "paged", nodes: [{ name: "a", target }] });
    const first = await stage.read("/v1/workflows?name=paged&state=RUNNING&limit=2");
    const rest = await stage.read(`/v1/workflows?name=paged&state=RUNNING&limit=2&cursor=${first.nextCursor}`);
    assert.deepEqual([first.items.length, rest.items.length, rest.nextCursor], [2, 1, null]);
  });

  it("does not find other executions", async () => {
    const root = nodeExecutionId(run, 0, null, 0);
    for (const path of [root, `${root}/nodes`, `${root}/graph`, `${run}/nodes/nobody`]) {
      assert.equal((await stage.get(`/v1/workflows/${path}`)).statusCode, 404, path);
    }
  });

  it("refuses a retry of a run and of a node", async () => {
    for (const id of [run, nodeExecutionId(run, 1, null, 0)]) {
      const answer = await stage.post(`/v1/executions/${id}/retry`);
      assert.equal(answer.statusCode, 409, answer.body);
    }
  });

  it("cancels a run through its owner", async () => {
    const { workflowId } = await stage.submitted({ nodes: [{ name: "a", target }] });
    const heard: string[] = [];
    const end = playOwner(stage.bus, (message, from) => {
      if (message.kind !== "COMMAND" || message.command.kind !== "CANCEL") return;
      heard.push(message.command.executionId);
      const { id } = message.command;
      stage.bus.send({ node: from, role: "api" }, { kind: "COMMAND_DONE", commandId: id, outcome: "REQUESTED" });
    });
    const answer = await stage.post(`/v1/workflows/${workflowId}/cancel`);
    end();
    assert.deepEqual([answer.statusCode, answer.json().cancelRequested, heard], [202, true, [workflowId]]);
  });

  it("hints the owner about the first nodes", async () => {
    const hinted: string[] = [];
    const end = playOwner(stage.bus, (message) => {
      if (message.kind === "HINT") hinted.push(...message.rows.map(({ row }) => row.id));
    });
    const { workflowId } = await stage.submitted(diamond);
    await new Promise((resolve) => setImmediate(resolve));
    end();
    assert.deepEqual(
      hinted,
      [0, 1].map((node) => nodeExecutionId(workflowId, node, null, 0)),
    );
  });
});
