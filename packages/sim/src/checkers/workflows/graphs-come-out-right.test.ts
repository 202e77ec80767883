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
    asked: { changes: [], commands: [], commandsDone: [], runs: [{ run: RUN, wasRevision: 1, paused: false, ...run }] },
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

/** A run in which the map m takes its items from a or from b, and b has 2 items. */
function mapRun(): (event: object) => void {
  const map = { ...node("m"), join: "ANY", map: { from: "b", path: [], maxRunning: 10, tolerate: 0 } };
  const edges = ["a", "b"].map((name) => ({ node: name, when: "SUCCEEDED" }));
  const nodes = [node("a"), node("b"), { ...map, dependsOn: edges } as unknown as WorkflowNode];
  const checker = graphsComeOutRight(() => new Map([["job", { nodes, onFailure: "FAIL_FAST" }]]), new Quiet());
  const saw = (event: object) => checker.saw?.(event as StoreEvent);
  const own = { id: RUN, node: -1, item: null, state: "RUNNING", queue: "OPEN", job: { jobId: "job" } };
  saw({ kind: "SUBMITTED", rows: [own, row(0, "RUNNING"), row(1, "RUNNING")] });
  return saw;
}

function commit(parts: object, asked: object = {}): object {
  const nothing = { changes: [], commands: [], commandsDone: [], runs: [] };
  const outcome = { status: "APPLIED", missedRuns: [] };
  return { kind: "COMMITTED", outcome, applied: [], born: [], nodes: [], ...parts, asked: { ...nothing, ...asked } };
}

const ends = (number: number, result: unknown) => ({
  before: row(number, "RUNNING"),
  after: { ...row(number, "SUCCEEDED"), result: Buffer.from(JSON.stringify(result)) },
});
const counts = (items: unknown) => ({
  runs: [{ run: RUN, wasRevision: 1, revision: 2, mode: "RUNNING", paused: false, mapCounts: [{ node: 2, items }] }],
});
const NO_ARRAY = { reason: "ITEMS_NOT_AN_ARRAY" };

it("a map that need not wait for its source may be counted before the owner learns of the end of the source", () => {
  const early = mapRun();
  early(commit({ applied: [ends(0, null)] }));
  early(commit({ applied: [ends(1, [1, 2])] }));
  early(commit({}, counts(NO_ARRAY)));
  const late = mapRun();
  late(commit({ applied: [ends(1, [1, 2])] }));
  assert.throws(() => late(commit({}, counts(NO_ARRAY))), /the map 2 has ITEMS_NOT_AN_ARRAY items instead of 2/);
});

it("a map goes on until its owner has learned of the end of a keyed item", () => {
  const item = (number: number, state: string) => ({ ...row(2, state), id: `item ${number}`, item: number });
  const dead = { before: item(0, "RUNNING"), after: item(0, "DEAD") };
  const told = { id: "told", kind: "NODE_ENDED", executionId: "item 0" };
  const begun = () => {
    const saw = mapRun();
    saw(commit({ applied: [ends(0, null), ends(1, [1, 2, 3])] }));
    saw(commit({ nodes: [item(0, "RUNNING")] }, counts(3)));
    return saw;
  };
  const elsewhere = begun();
  elsewhere(commit({ applied: [dead] }, { commands: [{ run: RUN, command: told }] }));
  elsewhere(commit({ nodes: [item(1, "RUNNING")] }));
  elsewhere(commit({ nodes: [item(2, "RUNNING")] }, { commandsDone: ["told"] }));
  const here = begun();
  here(commit({ applied: [dead] }));
  assert.throws(
    () => here(commit({ nodes: [item(1, "RUNNING")] })),
    /the item item 1 was created, and its map is DEAD/,
  );
});
