import type { JobId } from "../ids.ts";
import type { ExecutionPolicy } from "../job.ts";
import type { MapRules } from "./map-items.ts";

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

/** Work of an execution that a run creates. */
export interface NodeWork {
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
}

/** Node of a workflow, with every default filled in: one execution of each run. */
export interface WorkflowNode extends NodeWork {
  /** Unique within the workflow; 1 to 64 characters of `A-Z a-z 0-9 _ . -`. */
  name: string;
  /** Work that undoes the node; left out: the node is not compensated. */
  compensate?: NodeWork;
  /** Edges from the node's parents, each pair of parent and condition once; empty: the node is ready at once. */
  dependsOn: readonly Dependency[];
  join: Join;
  /** Whether the run can succeed although this node is DEAD or CANCELLED. */
  allowFailure: boolean;
  /** Left out: the node runs once. */
  map?: NodeMap;
  /** Whether dependents of the node's spawner do not wait for the node. Only nodes that a handler adds may have it. */
  detached?: boolean;
}

/** Way to a part of a JSON value: names of members of objects, and indexes of items of arrays. */
export type ValuePath = readonly (string | number)[];

/** The array for each of whose items a node runs. */
export interface NodeMap extends MapRules {
  /** Name of the node whose result has the array; "$input": the input of the run. */
  from: string;
  path: ValuePath;
}

/** Place of the array of a map. */
export interface ItemsSource {
  /** Number of the node whose result has it; -1: the input of the run has it. */
  from: number;
  path: ValuePath;
}

/** The part of a definition that an execution copies. */
export interface StoredWork extends NodeWork {
  /** Size of the payload in bytes; 0: there is none. */
  payloadBytes: number;
  /** Array of a map. Left out: the node is no map. */
  items?: ItemsSource;
  /** Id under which the store has the sub-workflow that the node runs. Left out: the node runs none. */
  workflow?: JobId;
}

/** The part of a node's definition that its executions copy, and the name for messages; the store keeps it. */
export interface StoredNode extends StoredWork {
  name: string;
  compensate?: StoredCompensation;
}

export interface StoredCompensation extends StoredWork {
  /** true: a run that was cancelled is compensated, too. */
  onCancel: boolean;
}

/** Definition of a workflow. The index of a node in `nodes` is its number in graphs, rows and ids. */
export interface WorkflowDefinition {
  nodes: readonly WorkflowNode[];
  onFailure: OnFailure;
}
