import assert from "node:assert/strict";
import { it } from "node:test";
import type { StoreEvent, WorkflowNode } from "@mainspring/server/testing";
import { Quiet } from "../quiet.ts";
import { type Graph, graphsComeOutRight } from "./graphs-come-out-right.ts";

const RUN = "run";

function node(name: string, ...dependsOn: WorkflowNode["dependsOn"]): WorkflowNode {
  return { name, dependsOn, join: "ALL", allowFailure: false } as unknown as WorkflowNode;
}

/** Nodes a and b, c after a, and d after the end of c, in whatever way it ends. */
const GRAPH: Graph = {
  nodes: [
    node("a"),
    node("b"),
    node("c", { node: "a", when: "SUCCEEDED" }),
    node("d", { node: "c", when: "FINISHED" }),
  ],
  onFailure: "FAIL_FAST",
};

function row(number: number, state: string): object {
  return {
    id: `node ${number}`,
    node: number,
    item: null,
    state,
    branch: null,
    job: { jobId: RUN, definition: { handler: "plain" } },
  };
}

/** A run whose node b is DEAD in a commit that changes the mode, and that creates d. */
function failure(run: { revision: number; mode: string }): void {
  const checker = graphsComeOutRight(() => new Map([["job", GRAPH]]), new Quiet());
  const saw = (event: object) => checker.saw?.(event as StoreEvent);
  const own = { id: RUN, node: -1, item: null, state: "RUNNING", queue: "OPEN", job: { jobId: "job" } };
  saw({ kind: "SUBMITTED", rows: [own, row(0, "RUNNING"), row(1, "RUNNING")] });
  saw({
    kind: "COMMITTED",
    outcome: { status: "APPLIED", missedRuns: [] },
    asked: { changes: [], runs: [{ run: RUN, wasRevision: 1, paused: false, ...run }] },
    applied: [{ before: row(1, "RUNNING"), after: row(1, "DEAD") }],
    born: [],
    nodes: [row(3, "RUNNING")],
  });
}

it("a node that waits for a failure may be created in a commit that also ends the run, and not without a failure", () => {
  failure({ revision: 2, mode: "FAILING" });
  failure({ revision: 3, mode: "CANCELLING" });
  assert.throws(() => failure({ revision: 2, mode: "CANCELLING" }), /d of run was created and is BLOCKED,SKIPPED/);
  assert.throws(() => failure({ revision: 3, mode: "RUNNING" }), /d of run was created and is BLOCKED,BLOCKED/);
});
