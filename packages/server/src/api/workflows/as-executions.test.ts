import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { WorkflowStage } from "./workflows.fixture.ts";

const target = { handler: "echo" };
const error = { name: "Error", message: "no disk" };
const graph = {
  name: "etl",
  nodes: [
    { name: "last", target, dependsOn: ["a", "b"] },
    { name: "a", target },
    { name: "b", target },
  ],
};

describe("a run of a workflow as an execution", () => {
  let stage: WorkflowStage;
  let run: string;
  before(async () => {
    stage = await WorkflowStage.open();
    run = (await stage.submitted(graph)).workflowId;
  });
  after(() => stage.close());

  it("is named as a run, and its nodes with their run and name", async () => {
    const views = [run, nodeExecutionId(run, 1, null, 0)].map((id) => stage.read(`/v1/executions/${id}`));
    const [whole, node] = await Promise.all(views);
    assert.deepEqual([whole.workflowId, whole.node, whole.state], [run, undefined, "RUNNING"]);
    assert.deepEqual([node.workflowId, node.node, node.trigger], [run, "a", "NODE"]);
  });

  it("waits for its nodes, not for a worker", async () => {
    const explain = () => stage.read(`/v1/executions/${run}/explain`);
    const explained = `/v1/workflows/${run}/nodes/{name}/explain`;
    const reason = { reason: "PARENTS_OPEN", mode: "RUNNING", explained };
    assert.deepEqual((await explain()).reasons, [{ ...reason, open: 3, first: ["a", "b", "last"] }]);
    const { reasons } = await stage.read(explained.replace("{name}", "last"));
    assert.deepEqual(reasons, [{ reason: "PARENTS_OPEN", open: 2, first: ["a", "b"] }]);
    await stage.ends(run, 1);
    assert.deepEqual((await explain()).reasons, [{ ...reason, open: 2, first: ["b", "last"] }]);
    await stage.commit(run, { runs: [{ run, wasRevision: 1, revision: 2, mode: "CANCELLING", paused: false }] });
    assert.deepEqual((await explain()).reasons, [{ ...reason, mode: "CANCELLING", open: 1, first: ["b"] }]);
  });

  it("takes no signal, because it has no handler", async () => {
    const refused = await stage.post(`/v1/executions/${run}/signals`, { name: "go" });
    assert.equal(refused.statusCode, 409);
    assert.match(refused.json().detail, /send the signal to a node of the run/);
    const node = await stage.post(`/v1/executions/${nodeExecutionId(run, 2, null, 0)}/signals`, { name: "go" });
    assert.equal(node.statusCode, 202, node.body);
  });

  it("is explained by its end when it is final, and has no mode then", async () => {
    await stage.ends(run, 2, { state: "DEAD", error, ended: [], failures: 1 });
    await stage.runEnds(run, { state: "DEAD", reason: "NODE_DEAD", error });
    const { state, reasons } = await stage.read(`/v1/executions/${run}/explain`);
    assert.deepEqual([state, reasons[0].reason, reasons[0].why], ["DEAD", "FINAL", "NODE_DEAD"]);
    assert.equal((await stage.read(`/v1/workflows/${run}`)).mode, null);
    assert.deepEqual((await stage.read("/v1/workflows?name=etl")).items[0].mode, null);
    const signal = await stage.post(`/v1/executions/${run}/signals`, { name: "go" });
    assert.equal(signal.json().type, "/problems/execution-final");
  });

  it("is not run again as a job, nor are its nodes", async () => {
    for (const id of [run, nodeExecutionId(run, 2, null, 0)]) {
      const refused = await stage.post(`/v1/executions/${id}/retry`);
      assert.deepEqual([refused.statusCode, refused.json().type], [409, "/problems/wrong-state"]);
      assert.match(refused.json().detail, /workflows\/\{workflowId\}\/retry/);
    }
  });
});
