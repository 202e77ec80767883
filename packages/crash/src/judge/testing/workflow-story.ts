import type { WorkflowNodeState } from "@mainspring/sdk";
import { digestOf } from "../../history/digest.ts";
import { type Graph, nodeKey } from "../../history/workflow-events.ts";
import type { FinalRun } from "../evidence.ts";
import { BLANK, type Ears, JobStory } from "./job-story.ts";

type ShownNode = FinalRun["nodes"][number];

/** A workflow of a made-up run. */
export class WorkflowStory {
  readonly #key: string;
  readonly #graph: Graph;
  readonly #ears: Ears;
  readonly #nodes = new Map<string, JobStory>();

  constructor(key: string, graph: Graph, ears: Ears) {
    this.#key = key;
    this.#graph = graph;
    this.#ears = ears;
  }

  submitted(at: number): this {
    return this.intended(at).answered(at + 1);
  }

  intended(at: number): this {
    const [key, graph] = [this.#key, this.#graph];
    this.#ears.client({ event: "WORKFLOW_INTENDED", at, key, shape: "shape", idempotent: true, graph });
    return this;
  }

  /** @param workflowId id of the run; default: the key */
  answered(at: number, workflowId = this.#key, deduplicated = false): this {
    const executionIds: Record<string, string> = {};
    const roots = deduplicated ? [] : this.#graph.nodes.filter(({ dependsOn }) => dependsOn.length === 0);
    for (const { name } of roots) executionIds[name] = nodeKey(this.#key, name);
    this.#ears.client({ event: "WORKFLOW_ANSWERED", at, key: this.#key, workflowId, executionIds, deduplicated });
    return this;
  }

  refused(at: number): this {
    this.#ears.client({ event: "WORKFLOW_REFUSED", at, key: this.#key, message: "no" });
    return this;
  }

  seenFinal(at: number, state: string): this {
    this.#ears.client({ event: "WORKFLOW_SEEN_FINAL", at, workflowId: this.#key, state });
    return this;
  }

  /** Execution of a node. @param executionId id of the execution; default: the key of the node */
  node(name: string, executionId = nodeKey(this.#key, name)): JobStory {
    const branch = this.#graph.nodes.find((node) => node.name === name)?.branch ?? null;
    const of = { run: this.#key, name, branch };
    const story = new JobStory(nodeKey(this.#key, name), executionId, {}, this.#ears, of);
    this.#nodes.set(name, story);
    return story;
  }

  /** Adds a node whose only attempt succeeds. */
  did(name: string, from: number, to: number): this {
    this.node(name).ran({ attempt: 1, from, to }).ends("SUCCEEDED");
    return this;
  }

  /** Adds a node whose only attempt fails for good. */
  failed(name: string, from: number, to: number): this {
    this.node(name).ran({ attempt: 1, from, to, as: "FAILED" }).ends("DEAD");
    return this;
  }

  /**
   * Adds the run as the server shows it. Nodes without an execution are SKIPPED.
   * @param others other values of nodes than those of their executions, by name; null: the server does not list the node
   */
  ends(
    state: FinalRun["state"],
    finishedAt: number,
    others: Record<string, Partial<ShownNode> | null> = {},
    workflowId = this.#key,
  ): this {
    const nodes = this.#graph.nodes.flatMap(({ name, branch }): ShownNode[] => {
      const story = this.#nodes.get(name);
      const state: WorkflowNodeState = story === undefined ? "SKIPPED" : (story.state ?? "RUNNING");
      const shown = {
        name,
        state,
        executionId: story?.executionId ?? null,
        branch: story === undefined ? null : branch,
      };
      return others[name] === null ? [] : [{ ...shown, ...others[name] }];
    });
    const ended = ["PENDING", "RUNNING"].includes(state) ? null : new Date(finishedAt).toISOString();
    const run = { ...BLANK, executionId: workflowId, state, handler: "workflow", finishedAt: ended, attempts: [] };
    this.#ears.execution({ ...run, key: null, payloadSha: digestOf(null), resultSha: digestOf(null) });
    this.#ears.workflow({ workflowId, name: this.#key, state, finishedAt: ended, nodes });
    return this;
  }
}
