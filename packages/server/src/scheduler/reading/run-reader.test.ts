import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileGraph } from "../../domain/workflow/compile-graph.ts";
import { encodeGraph } from "../../domain/workflow/graph-bytes.ts";
import { encodingNodes } from "../../domain/workflow/stored-nodes.ts";
import { nodeOf, storedNode } from "../../engine/testing/run-stage.ts";
import { candidate } from "../../engine/testing/story.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import type { LoadedRun, StoredWorkflow, StoreRuns } from "../../ports/store-runs.ts";
import { RunReader } from "./run-reader.ts";

const NOTHING = { kept: [], mapCounts: [], parts: [], executions: [], items: [], signalled: [] };
const NODES = [nodeOf("a", []), nodeOf("b", ["a"])];

function storedWorkflow(paddingBytes: number): StoredWorkflow {
  const compiled = compileGraph(NODES, "FAIL_FAST");
  assert.ok("graph" in compiled);
  const steps = encodingNodes(NODES.map((node) => storedNode(node, 0)));
  for (;;) {
    const { done, value } = steps.next();
    if (done === true)
      return { graph: encodeGraph(compiled.graph), definitions: value, output: new Uint8Array(paddingBytes) };
  }
}

/** A reader of runs, and the jobs whose stored workflows the store has sent. */
function scene(paddingBytes = 0) {
  const sent: string[] = [];
  const load: StoreRuns["load"] = async (ids, isKnown) =>
    ids.map((id): LoadedRun => {
      const jobId = id.slice(0, 5);
      const isLeftOut = isKnown?.(jobId, 1) === true;
      if (!isLeftOut) sent.push(jobId);
      const row = candidate({ id, jobId, jobVersion: 1 });
      const state = { mode: "RUNNING", paused: false, outcome: null, revision: 1 } as const;
      const stored = isLeftOut ? null : storedWorkflow(paddingBytes);
      return { row, workflow: jobId, ...state, stored, ...NOTHING };
    });
  const runs = { load } as StoreRuns;
  return { reader: new RunReader({ runs }, new ManualRuntime()), sent };
}

describe("the reader of runs", () => {
  it("asks for the graph and the definitions of a workflow once, and all of its runs share them", async () => {
    const { reader, sent } = scene();
    const [one, other] = await reader.read(["job-1/a", "job-2/a"]);
    const [again] = await reader.read(["job-1/b"]);
    assert.deepEqual(sent, ["job-1", "job-2"]);
    assert.ok(one !== undefined && one.graph === again?.graph && one.definitions === again.definitions);
    assert.notEqual(one.graph, other?.graph);
    assert.deepEqual(
      [one.graph.nodeCount, one.definitions.map(({ name }) => name), again.row.id],
      [2, ["a", "b"], "job-1/b"],
    );
  });

  it("drops the workflows that were used longest ago, although a read needs them at that moment", async () => {
    const { reader, sent } = scene(20 * 1024 * 1024);
    assert.equal((await reader.read(["job-1/a", "job-2/a"])).length, 2);
    await reader.read(["job-2/b"]);
    assert.deepEqual(sent, ["job-1", "job-2"]);
    await reader.read(["job-1/b"]);
    assert.deepEqual(sent, ["job-1", "job-2", "job-1"]);
  });
});
