import type { WorkflowNodeState } from "@mainspring/sdk";
import { digestOf } from "../../history/digest.ts";
import { type Graph, nodeKey, type RetryOf } from "../../history/workflow-events.ts";
import type { FinalRun } from "../evidence.ts";
import { BLANK, type Ears, JobStory } from "./job-story.ts";

type ShownNode = FinalRun["nodes"][number];

/** A workflow of a made-up run. */
export class WorkflowStory {
  readonly #key: string;
  readonly #graph: Graph;
  readonly #ears: Ears;
  readonly #nodes = new Map<string, JobStory>();
  readonly #retryOf: RetryOf | undefined;

  /** @param retryOf run that this one retries; left out: it is no retry */
  constructor(key: string, graph: Graph, ears: Ears, retryOf?: RetryOf) {
    this.#key = key;
    this.#graph = graph;
    this.#ears = ears;
    this.#retryOf = retryOf;
  }

  /** A retry of the run, whose key is the id of its run. @param from nodes that run again although they have succeeded */
  retry(key: string, graph = this.#graph, from: string[] = []): WorkflowStory {
    const run = this.#retryOf?.run ?? this.#key;
    return new WorkflowStory(key, graph, this.#ears, { workflowId: this.#key, run, from });
  }

  /** Adds a pause that the server has confirmed. @param to time of the request to resume the run; null: none */
  paused(from: number, to: number | null): this {
    const workflowId = this.#key;
    this.#ears.client({ event: "WORKFLOW_PAUSED", at: from, workflowId });
    if (to !== null) this.#ears.client({ event: "WORKFLOW_RESUME_ASKED", at: to, workflowId });
    return this;
  }

  submitted(at: number): this {
    return this.intended(at).answered(at + 1);
  }

  intended(at: number): this {
    const [key, graph, retryOf] = [this.#key, this.#graph, this.#retryOf];
    const rest = retryOf === undefined ? {} : { retryOf };
    this.#ears.client({ event: "WORKFLOW_INTENDED", at, key, shape: "shape", idempotent: true, graph, ...rest });
    return this;
  }

  /** @param workflowId id of the run; default: the key */
  answered(at: number, workflowId = this.#key, deduplicated = false): this {
    const executionIds: Record<string, string> = {};
    const roots =
      deduplicated || this.#retryOf !== undefined
        ? []
        : this.#graph.nodes.filter(({ dependsOn }) => dependsOn.length === 0);
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
    const of = { run: this.#retryOf?.run ?? this.#key, name, branch };
    const story = new JobStory(nodeKey(of.run, name), executionId, {}, this.#ears, of);
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
   * Adds the run as the server shows it. Nodes without an execution are SKIPPED by their dependencies.
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
        keptFrom: null,
        because: story === undefined ? { kind: "DEPENDENCIES" as const, dependencies: [] } : null,
      };
      return others[name] === null ? [] : [{ ...shown, ...others[name] }];
    });
    const ended = ["PENDING", "RUNNING"].includes(state) ? null : new Date(finishedAt).toISOString();
    const run = { ...BLANK, executionId: workflowId, state, handler: "workflow", finishedAt: ended, attempts: [] };
    const { output } = this.#graph;
    const result = output === null ? undefined : this.#nodes.get(output)?.resultSha;
    const resultSha = (state === "SUCCEEDED" && result) || digestOf(null);
    this.#ears.execution({ ...run, key: null, payloadSha: digestOf(null), resultSha });
    const [name, retryOf] = [this.#retryOf?.run ?? this.#key, this.#retryOf?.workflowId ?? null];
    this.#ears.workflow({ workflowId, name, state, finishedAt: ended, retryOf, nodes });
    return this;
  }
}
