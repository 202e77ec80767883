import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { LightMyRequestResponse } from "fastify";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import type { RunChange, RunMode } from "../../ports/store-runs.ts";
import { playOwner } from "../api.fixture.ts";
import { WorkflowStage } from "./workflows.fixture.ts";

const target = { handler: "echo" };
const chain = {
  nodes: [
    { name: "a", target },
    { name: "b", target, dependsOn: ["a"] },
    { name: "alarm", target, dependsOn: [{ node: "a", when: "FAILED" }] },
  ],
};
const UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057";

/** Name of a problem; undefined: the answer is none. */
function nameOf(answer: LightMyRequestResponse): string | undefined {
  return answer.json().type?.split("/").at(-1);
}

/** An owner that pauses and resumes as it is told, for as long as the action lasts. */
async function withOwner<T>(stage: WorkflowStage, act: () => Promise<T>, revision = 1): Promise<T> {
  let wasRevision = revision;
  const end = playOwner(stage.bus, (message, from) => {
    if (message.kind !== "COMMAND" || !("executionId" in message.command)) return;
    const { id, kind, executionId } = message.command;
    const paused = kind === "PAUSE_RUN";
    void changes(stage, executionId, { wasRevision, revision: ++wasRevision, paused }).then(() => {
      const outcome = paused ? "PAUSED" : "RESUMED";
      stage.bus.send({ node: from, role: "api" }, { kind: "COMMAND_DONE", commandId: id, outcome });
    });
  });
  return await act().finally(end);
}

function changes(stage: WorkflowStage, run: string, change: Partial<RunChange>): Promise<void> {
  const usual = { run, wasRevision: 1, revision: 2, mode: "RUNNING" as RunMode, paused: false };
  return stage.commit(run, { runs: [{ ...usual, ...change }] });
}

describe("pausing and resuming a workflow over HTTP", () => {
  let stage: WorkflowStage;
  before(async () => {
    stage = await WorkflowStage.open();
  });
  after(() => stage.close());

  it("confirms what the owner has written, and shows it wherever the mode is shown", async () => {
    const { workflowId } = await stage.submitted({ ...chain, name: "paused" });
    const path = `/v1/workflows/${workflowId}`;
    await withOwner(stage, async () => {
      const paused = await stage.post(`${path}/pause`);
      const body = { workflowId, state: "RUNNING", mode: "RUNNING", paused: true };
      assert.deepEqual([paused.statusCode, paused.json()], [200, body]);
      assert.equal((await stage.read(path)).paused, true);
      assert.equal((await stage.read("/v1/workflows?name=paused")).items[0].paused, true);
      const explained = (await stage.read(`/v1/executions/${workflowId}/explain`)).reasons;
      assert.deepEqual(explained[0], { reason: "WORKFLOW_PAUSED", workflowId });
      const node = (await stage.read(`${path}/nodes/b/explain`)).reasons;
      assert.deepEqual(
        node.map(({ reason }: { reason: string }) => reason),
        ["WORKFLOW_PAUSED", "PARENTS_OPEN"],
      );
      await stage.ends(workflowId, 0);
      const ready = (await stage.read(`${path}/nodes/b/explain`)).reasons;
      assert.deepEqual(ready, [{ reason: "WORKFLOW_PAUSED", workflowId }]);
      const resumed = await stage.post(`${path}/resume`);
      assert.deepEqual([resumed.statusCode, resumed.json().paused], [200, false]);
    });
  });

  it("answers 202 while the owner is silent", async () => {
    const { workflowId } = await stage.submitted(chain);
    const answer = await stage.post(`/v1/workflows/${workflowId}/pause`);
    assert.deepEqual([answer.statusCode, answer.json().paused], [202, false]);
    const { commands } = await stage.store.recover(Array.from({ length: 64 }, (_, shard) => shard));
    const own = commands.filter((command) => "executionId" in command && command.executionId === workflowId);
    assert.deepEqual(
      own.map(({ kind }) => kind),
      ["PAUSE_RUN"],
    );
  });

  it("refuses runs that are unknown, final or about to end", async () => {
    for (const order of ["pause", "resume"]) {
      assert.equal((await stage.post(`/v1/workflows/${UNKNOWN}/${order}`)).statusCode, 404);
      const { workflowId } = await stage.submitted(chain);
      await changes(stage, workflowId, { mode: "EXPIRING" });
      const ending = await stage.post(`/v1/workflows/${workflowId}/${order}`);
      assert.deepEqual([ending.statusCode, nameOf(ending)], [409, "wrong-state"]);
      assert.match(ending.json().detail, /the workflow is EXPIRING: only one that starts nodes can be (pau|resum)/);
      await stage.runEnds(workflowId, { state: "DEAD" });
      const final = await stage.post(`/v1/workflows/${workflowId}/${order}`);
      assert.deepEqual([final.statusCode, /is DEAD/.test(final.json().detail)], [409, true]);
    }
  });
});

describe("signals to a node of a workflow over HTTP", () => {
  let stage: WorkflowStage;
  before(async () => {
    stage = await WorkflowStage.open();
  });
  after(() => stage.close());

  it("are kept for a node without an execution, and taken once", async () => {
    const { workflowId } = await stage.submitted(chain);
    const url = `/v1/workflows/${workflowId}/nodes/b/signals`;
    const told: unknown[] = [];
    const end = playOwner(stage.bus, (message) => {
      if (message.kind === "COMMAND" && message.command.kind === "SIGNAL") told.push(message.command.ofNode);
    });
    const first = await stage.post(url, { name: "approved", id: "s1", data: { by: "Ada" } });
    const again = await stage.post(url, { name: "approved", id: "s1", data: { by: "Ada" } });
    const other = await stage.post(url, { name: "rejected", id: "s1" });
    end();
    assert.deepEqual([first.statusCode, again.statusCode, other.statusCode], [202, 200, 409]);
    assert.deepEqual([again.json().isRepeated, nameOf(other)], [true, "signal-id-reused"]);
    assert.deepEqual(told, [{ run: workflowId, node: 1 }]);
    const id = nodeExecutionId(workflowId, 1, null, 0);
    const kept = (await stage.store.steps.readSignals([id])).get(id);
    assert.deepEqual(
      kept?.map(({ name, data }) => [name, String(Buffer.from(data ?? []))]),
      [["approved", '{"by":"Ada"}']],
    );
  });

  it("are refused for nodes that are unknown, final or skipped", async () => {
    const { workflowId } = await stage.submitted(chain);
    await stage.ends(workflowId, 0);
    const send = async (node: string, run = workflowId) => {
      const answer = await stage.post(`/v1/workflows/${run}/nodes/${node}/signals`, { name: "approved" });
      return [answer.statusCode, nameOf(answer)];
    };
    assert.deepEqual(await send("nobody"), [404, "not-found"]);
    assert.deepEqual(await send("a", UNKNOWN), [404, "not-found"]);
    assert.deepEqual(await send("a"), [409, "execution-final"]);
    assert.deepEqual(await send("alarm"), [409, "execution-final"]);
    assert.deepEqual(await send("b"), [202, undefined]);
    await stage.runEnds(workflowId, { state: "CANCELLED" });
    assert.deepEqual(await send("b"), [409, "execution-final"]);
  });

  it("are refused when they are too large", async () => {
    const { workflowId } = await stage.submitted(chain);
    const url = `/v1/workflows/${workflowId}/nodes/b/signals`;
    const answer = await stage.post(url, { name: "approved", data: "x".repeat(65_536) });
    assert.deepEqual([answer.statusCode, answer.json().errors[0].field], [400, "data"]);
  });
});
