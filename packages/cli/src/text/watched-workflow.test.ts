import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NODE_STATES } from "@mainspring/contract/enums";
import type { Workflow, WorkflowGraph, WorkflowNodeState } from "@mainspring/sdk";
import { WatchedWorkflow } from "./watched-workflow.ts";

type Node = WorkflowGraph["nodes"][number];

const at = "2026-03-01T00:00:00.000Z";

function nodesIn(states: Record<string, WorkflowNodeState>): Node[] {
  const rest = { handler: "echo", pool: "default", join: "ALL", allowFailure: false, keptFrom: null } as const;
  return Object.entries(states).map(([name, state]) => ({ name, state, ...rest, dependsOn: [] }));
}

function run(nodes: readonly Node[], more: Partial<Workflow> = {}): Workflow {
  const counts = Object.fromEntries(
    NODE_STATES.map((state) => [state, nodes.filter((node) => node.state === state).length]),
  ) as Workflow["counts"];
  return {
    ...{ workflowId: "w-1", jobId: "j-1", tenant: "default", name: null, labels: {}, priority: 5 },
    ...{ state: "RUNNING", reason: null, mode: "RUNNING", paused: false, nodes: nodes.length, onFailure: "FAIL_FAST" },
    ...{ createdAt: at, startedAt: at, finishedAt: null, deadline: at, error: null, counts, failed: [] },
    ...{ retryOf: null, retriedBy: [], input: null, result: null, ...more },
  };
}

describe("a run that is followed", () => {
  it("is told as it is at first, and by its changes from then on", () => {
    const watched = new WatchedWorkflow();
    const first = nodesIn({ a: "RUNNING", b: "BLOCKED" });
    const change = watched.see(run(first), first);
    assert.deepEqual(change?.changed, [
      { node: "a", state: "RUNNING" },
      { node: "b", state: "BLOCKED" },
    ]);
    assert.deepEqual(watched.say(false), ["workflow w-1 is RUNNING in mode RUNNING, nodes 2: 1 BLOCKED, 1 RUNNING"]);
    assert.equal(watched.see(run(first), first), null);
    assert.deepEqual(watched.say(false), []);

    const next = nodesIn({ a: "SUCCEEDED", b: "RUNNING" });
    assert.equal(watched.see(run(next), next)?.changed.length, 2);
    assert.deepEqual(watched.say(false), ["node a is SUCCEEDED, was RUNNING", "node b is RUNNING, was BLOCKED"]);
    assert.deepEqual(watched.say(true), []);
  });

  it("tells failures and its end also where lines are redrawn", () => {
    const watched = new WatchedWorkflow();
    const first = nodesIn({ a: "RUNNING", b: "BLOCKED" });
    watched.see(run(first), first);
    const last = nodesIn({ a: "DEAD", b: "SKIPPED" });
    const error = { name: "Error", message: "no\u001b[2J disk" };
    const failed = [{ name: "a", executionId: "e", attempt: 1, reason: null, error, finishedAt: at }];
    const dead = { name: "NodeDead", message: "its node a is DEAD" };
    watched.see(run(last, { state: "DEAD", mode: "FAILING", error: dead, failed, finishedAt: at }), last);
    assert.deepEqual(watched.say(true), [
      "node a is DEAD, was RUNNING: Error: no\\u001b[2J disk",
      "workflow w-1 is DEAD, nodes 2: 1 SKIPPED, 1 DEAD: NodeDead: its node a is DEAD",
    ]);
  });

  it("fits on the screen: its head, and the nodes that failed or run", () => {
    const watched = new WatchedWorkflow();
    assert.deepEqual(watched.lines(10), []);
    const nodes = nodesIn({ a: "SUCCEEDED", b: "PENDING", c: "RUNNING", d: "DEAD", e: "BLOCKED", f: "PENDING" });
    watched.see(run(nodes), nodes);
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
