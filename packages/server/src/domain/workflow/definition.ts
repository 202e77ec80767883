import type { ExecutionPolicy } from "../job.ts";

export {
  NODE_REFERENCES_MAX,
  REFERENCE_NAME_CHARS_MAX,
  REFERENCE_PATH_MAX,
} from "@mainspring/contract/limits";

/**
 * End of a parent for which a node waits. SUCCEEDED: the parent SUCCEEDED. FAILED: the parent is DEAD. FINISHED: the
 * parent has any end: SUCCEEDED, DEAD, CANCELLED or SKIPPED. `BRANCH:x`: the parent SUCCEEDED and named the branch x.
 */
export type Condition = "SUCCEEDED" | "FAILED" | "FINISHED" | `BRANCH:${string}`;

/** Edge of the graph: a parent of a node, and the condition that the parent's end must meet. */
export interface Dependency {
  /** Name of the parent. */
  node: string;
  when: Condition;
}

/** Number of edges that a node needs. ALL: every edge is met. ANY: one edge is met; the other edges do not matter. */
export type Join = "ALL" | "ANY";

/**
 * Consequence of a DEAD node without `allowFailure`. FAIL_FAST: only nodes that may handle the failure still start, and
 * the other ones are cancelled or skipped. CONTINUE: every node runs whose own edges allow it.
 */
export type OnFailure = "FAIL_FAST" | "CONTINUE";

/** Node of a workflow, with every default filled in: one execution of each run. */
export interface WorkflowNode {
  /** Unique within the workflow; 1 to 64 characters of `A-Z a-z 0-9 _ . -`. */
  name: string;
  pool: string;
  handler: string;
  /** Capabilities that a worker must have; sorted, without repeats. */
  requires: readonly string[];
  /** 0 to 9; 5 is normal. */
  priority: number;
  policy: ExecutionPolicy;
  /** Key that the node shares with the executions of jobs and of other nodes; left out: none. */
  concurrencyKey?: string;
  /** Executions of the key that run at once, at most; left out: 1. The limit of the newest execution counts. */
  concurrencyLimit?: number;
  /** Edges from the node's parents, each pair of parent and condition once; empty: the node is ready at once. */
  dependsOn: readonly Dependency[];
  join: Join;
  /** Whether the run can succeed although this node is DEAD or CANCELLED. */
  allowFailure: boolean;
}

/** The part of a node's definition that its execution copies, and the name for messages; the store keeps it. */
export interface StoredNode
  extends Pick<
    WorkflowNode,
    "name" | "pool" | "handler" | "requires" | "priority" | "policy" | "concurrencyKey" | "concurrencyLimit"
  > {
  /** Size of the payload in bytes; 0: there is none. */
  payloadBytes: number;
}

/** Definition of a workflow. The index of a node in `nodes` is its number in graphs, rows and ids. */
export interface WorkflowDefinition {
  nodes: readonly WorkflowNode[];
  onFailure: OnFailure;
}
