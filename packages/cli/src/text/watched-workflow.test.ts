import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type {
  ExecutionError,
  NodeCompensation,
  Workflow,
  WorkflowEvent,
  WorkflowGraph,
  WorkflowNodeState,
} from "@mainspring/sdk";
import { WatchedWorkflow } from "./watched-workflow.ts";

const at = "2026-03-01T00:00:00.000Z";

function graphNodes(states: Record<string, WorkflowNodeState>, dependsOn: Record<string, string[]> = {}) {
  const rest = { handler: "echo", pool: "default", join: "ALL", allowFailure: false } as const;
  const none = { compensatedBy: null, compensation: null, keptFrom: null, addedBy: null, detached: false } as const;
  return Object.entries(states).map(([name, state]): WorkflowGraph["nodes"][number] => {
    return {
      name,
      state,
      ...rest,
      ...none,
      dependsOn: (dependsOn[name] ?? []).map((node) => ({ node, when: "SUCCEEDED" })),
    };
  });
}

function watchedIn(states: Record<string, WorkflowNodeState>, dependsOn: Record<string, string[]> = {}) {
  const nodes = graphNodes(states, dependsOn);
  return new WatchedWorkflow({ workflowId: "w-1", onFailure: "FAIL_FAST", nodes });
}

function run(more: Partial<Workflow> = {}): WorkflowEvent {
  const workflow: Workflow = {
    ...{ workflowId: "w-1", jobId: "j-1", tenant: "default", name: null, labels: {}, priority: 5 },
    ...{ state: "RUNNING", reason: null, mode: "RUNNING", paused: false, nodes: 2, onFailure: "FAIL_FAST" },
    ...{ createdAt: at, scheduledAt: at, startedAt: at, finishedAt: null, deadline: at, error: null, failed: [] },
    ...{
      retryOf: null,
      parent: null,
      retriedBy: [],
      input: null,
      result: null,
      compensate: "ON_FAILURE",
      failedCompensations: [],
    },
    counts: {} as Workflow["counts"],
    ...more,
  };
  return { type: "workflow", id: "1", workflow };
}

function node(
  name: string,
  state: WorkflowNodeState,
  error: ExecutionError | null = null,
  undo: NodeCompensation | null = null,
): WorkflowEvent {
  const nothing = { executionId: null, reason: null, attempt: 1, branch: null, assignedWorker: null };
  const times = {
    createdAt: at,
    startedAt: at,
    finishedAt: null,
    blockedBy: null,
    because: null,
    keptFrom: null,
    items: null,
    childWorkflowId: null,
  };
  return {
    type: "node",
    id: "2",
    node: { name, state, handler: "echo", pool: "default", ...nothing, error, ...times, compensation: undo },
  };
}

describe("a run that is followed", () => {
  it("is told as it is at first, and by its changes from then on", () => {
    const watched = watchedIn({ a: "RUNNING", b: "BLOCKED" });
    assert.deepEqual(watched.see(run())?.changed, [
      { node: "a", state: "RUNNING" },
      { node: "b", state: "BLOCKED" },
    ]);
    assert.equal(watched.say(false), "workflow w-1 is RUNNING in mode RUNNING, nodes 2: 1 BLOCKED, 1 RUNNING");
    assert.deepEqual([watched.see(run()), watched.say(false)], [null, null]);

    const change = watched.see(node("a", "SUCCEEDED"));
    assert.deepEqual(change?.changed, [{ node: "a", state: "SUCCEEDED" }]);
    assert.deepEqual([change?.counts.SUCCEEDED, change?.counts.RUNNING], [1, 0]);
    assert.deepEqual([watched.say(false), watched.say(true)], ["node a is SUCCEEDED, was RUNNING", null]);
    assert.equal(watched.see(node("a", "SUCCEEDED")), null, "a stream that goes on repeats changes");
  });

  it("knows the nodes that handlers add once it has a newer graph, and what an event tells of them", () => {
    const watched = watchedIn({ a: "SUCCEEDED" });
    watched.see(run());
    assert.deepEqual([watched.knows("a"), watched.knows("a/x")], [true, false]);
    watched.extend({
      workflowId: "w-1",
      onFailure: "FAIL_FAST",
      nodes: graphNodes({ a: "SUCCEEDED", "a/x": "RUNNING" }),
    });
    const change = watched.see(node("a/x", "RUNNING"));
    assert.deepEqual([change?.changed, change?.counts.RUNNING], [[{ node: "a/x", state: "RUNNING" }], 1]);
    assert.equal(watched.say(false), "node a/x is RUNNING, was BLOCKED");
    assert.match(watched.lines(40).join("\n"), /a\/x {2}RUNNING/);
  });

  it("is told of its compensations, and draws them beside its nodes", () => {
    const watched = watchedIn({ a: "SUCCEEDED", b: "DEAD" });
    watched.see(run({ mode: "COMPENSATING" }));
    const times = { startedAt: at, finishedAt: null, after: null };
    const undo: NodeCompensation = {
      ...{ state: "RUNNING", executionId: "e-1", handler: "undo", pool: "default", reason: null, attempt: 1 },
      ...{ error: null, assignedWorker: "w1", ...times },
    };
    const change = watched.see(node("a", "SUCCEEDED", null, undo));
    assert.deepEqual(change?.changed, [{ node: "a", state: "SUCCEEDED", compensation: "RUNNING" }]);
    assert.deepEqual([watched.say(false), watched.say(true)], ["compensation of node a is RUNNING", null]);
    assert.match(watched.lines(40).join("\n"), /a {2}SUCCEEDED {2}compensation RUNNING/);
    const error = { name: "Error", message: "no" };
    watched.see(node("a", "SUCCEEDED", null, { ...undo, state: "DEAD", error }));
    assert.equal(watched.say(true), "compensation of node a is DEAD: Error: no");
  });

  it("is told when it is paused and resumed", () => {
    const watched = watchedIn({ a: "RUNNING" });
    watched.see(run());
    assert.equal(watched.see(run({ paused: true }))?.paused, true);
    assert.equal(watched.say(true), "workflow w-1 is RUNNING in mode RUNNING, paused, nodes 1: 1 RUNNING");
    assert.equal(watched.see(run())?.paused, false);
  });

  it("tells failures and its end also where lines are redrawn", () => {
    const watched = watchedIn({ a: "RUNNING", b: "BLOCKED" });
    watched.see(run());
    watched.see(node("a", "DEAD", { name: "Error", message: "no\u001b[2J disk" }));
    assert.equal(watched.say(true), "node a is DEAD, was RUNNING: Error: no\\u001b[2J disk");
    watched.see(node("b", "SKIPPED"));
    const dead = { name: "NodeDead", message: "its node a is DEAD" };
    watched.see(run({ state: "DEAD", mode: null, error: dead, finishedAt: at }));
    const end = "workflow w-1 is DEAD, nodes 2: 1 SKIPPED, 1 DEAD: NodeDead: its node a is DEAD";
    assert.deepEqual([watched.say(true), watched.state], [end, "DEAD"]);
  });

  it("is drawn as its graph where that fits on the screen", () => {
    const watched = watchedIn({ a: "RUNNING", b: "BLOCKED" }, { b: ["a"] });
    watched.see(run());
    watched.see(node("a", "SUCCEEDED"));
    assert.deepEqual(watched.lines(12), [
      "w-1  RUNNING  RUNNING  [############............]  50 %",
      "nodes 2: 1 BLOCKED, 1 SUCCEEDED",
      "",
      "2 nodes in 2 layers, FAIL_FAST",
      "",
      "1  a  SUCCEEDED",
      "   │",
      "2  b  BLOCKED    after a",
    ]);
  });

  it("is drawn as the nodes that failed or run where its graph is too large", () => {
    const watched = watchedIn({ a: "SUCCEEDED", b: "PENDING", c: "RUNNING", d: "DEAD", e: "BLOCKED", f: "PENDING" });
    assert.deepEqual(watched.lines(10), []);
    watched.see(run());
    assert.deepEqual(watched.lines(6), [
      "w-1  RUNNING  RUNNING  [########................]  33 %",
      "nodes 6: 1 BLOCKED, 2 PENDING, 1 RUNNING, 1 SUCCEEDED, 1 DEAD",
      "  DEAD       d  echo",
      "  RUNNING    c  echo",
      "  PENDING    b  echo",
      "  PENDING    f  echo",
    ]);
    assert.deepEqual(watched.lines(4).slice(2), ["  DEAD       d  echo", "  … and 3 more"]);
  });
});
