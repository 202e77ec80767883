import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DEFAULT_POLICY } from "../../domain/job.ts";
import { allSteps } from "../../domain/workflow/all-steps.ts";
import { compileGraph } from "../../domain/workflow/compile-graph.ts";
import { encodeGraph } from "../../domain/workflow/graph-bytes.ts";
import { encodingNodes } from "../../domain/workflow/stored-nodes.ts";
import type { NewPart } from "../../ports/store-runs.ts";
import { EventReader } from "../event-reader.fixture.ts";
import { WorkflowStage } from "./workflows.fixture.ts";

const target = { handler: "echo" };
const graph = {
  nodes: [
    { name: "list", target },
    { name: "done", target, dependsOn: ["list"] },
  ],
};
const ADDED = { p1: [], p2: [], sum: ["p1", "p2"] };
const DETACHED = ["p2"];

/** Nodes that the handler of the node 0 adds. */
function partOf(run: string, first: number): NewPart {
  const names = Object.keys(ADDED);
  const compiled = compileGraph(
    Object.entries(ADDED).map(([name, parents]) => ({
      ...{ name, join: "ALL" as const, allowFailure: false, detached: DETACHED.includes(name) },
      dependsOn: parents.map((node) => ({ node, when: "SUCCEEDED" as const })),
    })),
    "FAIL_FAST",
  );
  assert.ok("graph" in compiled);
  const rest = { pool: "default", handler: "echo", requires: [], priority: 5, policy: DEFAULT_POLICY, payloadBytes: 0 };
  const definitions = allSteps(encodingNodes(names.map((name) => ({ name, ...rest }))));
  return { run, spawner: 0, first, nodes: names.length, graph: encodeGraph(compiled.graph), definitions, payloads: [] };
}

describe("reads of a run whose handlers have added nodes", () => {
  let stage: WorkflowStage;
  let url: string;
  before(async () => {
    stage = await WorkflowStage.open();
    url = await stage.app.listen({ host: "127.0.0.1", port: 0 });
  });
  after(() => stage.close());

  /** @param first number of the first added node; numbers before it that the definition does not have are void */
  const spawned = async (first = 2) => {
    const { workflowId: run } = await stage.submitted(graph);
    await stage.ends(run, 0, { spawn: partOf(run, first) });
    return run;
  };

  it("list the nodes by name, behind those of the definition", async () => {
    const run = await spawned();
    const { items } = await stage.read(`/v1/workflows/${run}/nodes`);
    assert.deepEqual(
      items.map(({ name }: { name: string }) => name),
      ["list", "done", "list/p1", "list/p2", "list/sum"],
    );
    const { blockedBy } = await stage.read(`/v1/workflows/${run}/nodes/done`);
    assert.deepEqual(blockedBy, { open: 2, first: ["list/p1", "list/sum"] });
    const named = encodeURIComponent("list/sum");
    assert.equal((await stage.read(`/v1/workflows/${run}/nodes/${named}`)).name, "list/sum");
    const { reasons } = await stage.read(`/v1/workflows/${run}/nodes/${named}/explain`);
    assert.deepEqual(reasons, [{ reason: "PARENTS_OPEN", open: 2, first: ["list/p1", "list/p2"] }]);
    const { nodes, counts } = await stage.read(`/v1/workflows/${run}`);
    assert.deepEqual([nodes, counts.SUCCEEDED, counts.BLOCKED], [5, 1, 2]);
  });

  it("draw them behind the node that has added them", async () => {
    const run = await spawned();
    const { nodes } = await stage.read(`/v1/workflows/${run}/graph`);
    assert.deepEqual(
      nodes.map(({ name, addedBy, detached }: { name: string; addedBy: string | null; detached: boolean }) => [
        ...[name, addedBy, detached],
      ]),
      [
        ["list", null, false],
        ["done", null, false],
        ["list/p1", "list", false],
        ["list/p2", "list", true],
        ["list/sum", "list", false],
      ],
    );
    const mermaid = (await stage.get(`/v1/workflows/${run}/graph?format=mermaid`)).body;
    assert.match(mermaid, /n2\["list#47;p1<br\/>PENDING"\][^]*n0 -.-> n2\n[^]*n2 --> n4\n/);
    assert.doesNotMatch(mermaid, /n0 -.-> n4/);
    const dot = (await stage.get(`/v1/workflows/${run}/graph?format=dot`)).body;
    assert.match(dot, /n2 \[label="list\/p1\\nPENDING"\];[^]*n0 -> n2 \[style=dashed\];[^]*n2 -> n4;/);
  });

  it("leave out the numbers that no node has", async () => {
    const run = await spawned(4);
    const names = ["list", "done", "list/p1", "list/p2", "list/sum"];
    const { nodes } = await stage.read(`/v1/workflows/${run}/graph`);
    assert.deepEqual(
      nodes.map(({ name }: { name: string }) => name),
      names,
    );
    const { items } = await stage.read(`/v1/workflows/${run}/nodes`);
    assert.equal(items.length, names.length);
    assert.equal((await stage.get(`/v1/workflows/${run}/nodes/${encodeURIComponent("list/nobody")}`)).statusCode, 404);
  });

  it("tell the states of nodes that were added after the stream had begun", async () => {
    const { workflowId: run } = await stage.submitted(graph);
    const stream = await EventReader.open(`${url}/v1/workflows/${run}/events`);
    await stream.until(/"list".*\n\n/);
    await stage.ends(run, 0, { spawn: partOf(run, 2) });
    await stage.bears(run, 2, "echo");
    await stage.ends(run, 2);
    await stage.runEnds(run, { state: "DEAD", reason: "NODE_DEAD" });
    const told = await stream.until(/event: workflow\n.*\ndata: .*"state":"DEAD".*\n\n/);
    assert.match(told, /event: node\n.*\ndata: {"name":"list\/p1","state":"SUCCEEDED"/);
    await stream.end();
  });
});
