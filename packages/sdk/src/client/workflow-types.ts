import type { CompensationPolicy } from "../workflows/workflow-requests.ts";
import type { ExecutionError, ExecutionState } from "./api-types.ts";
import type { WaitReason } from "./operator-types.ts";

/** State of a workflow's node. BLOCKED: the node waits for other nodes. */
export type WorkflowNodeState = "BLOCKED" | ExecutionState;
/**
 * Mode of a run. FAILING: only nodes that may handle a failure still start. CANCELLING and EXPIRING: no node starts.
 * COMPENSATING: the nodes have ended, and those that SUCCEEDED are compensated.
 */
export type RunMode = "RUNNING" | "FAILING" | "CANCELLING" | "EXPIRING" | "COMPENSATING";
/** Answer to the submit of a workflow that recurs. */
export interface PlannedWorkflow {
  /** Id of the workflow's job, which starts a run at each planned instant. */
  jobId: string;
  state: "ACTIVE";
  /** Number of nodes. */
  nodes: number;
  /** First planned instant; null: none. */
  nextFireAt: string | null;
  /** Possible mistakes, as a handler that no worker offers now; absent: none. */
  warnings?: string[];
}

/** Answer to the submit of a workflow. */
export interface SubmittedWorkflow {
  /** Id of the run. */
  workflowId: string;
  /** Id of the workflow's job. */
  jobId: string;
  /** State of the run when the server took the workflow. PENDING: the run waits for its time or its concurrency key. */
  state: "RUNNING" | "PENDING";
  /** Number of nodes. */
  nodes: number;
  /** Time at which the run is to start; null: at once, or as soon as its concurrency key allows. */
  startsAt: string | null;
  /** Ids of the executions of the nodes that start at once, by name; the first 1,000. Empty while the run is PENDING. */
  executionIds: Record<string, string>;
  /** Possible mistakes, as a handler that no worker offers now; absent: none. */
  warnings?: string[];
}

/** Answer to the retry of a run. */
export interface RetriedWorkflow extends SubmittedWorkflow {
  /** Id of the run that this one retries. */
  retryOf: string;
}

/** Answer to the submit of a workflow whose unique key is held; nothing was written. */
export interface DeduplicatedWorkflow {
  /** Id of the execution that holds the key. */
  workflowId: string;
  /** Id of the job that holds the key. */
  jobId: string;
  deduplicated: true;
}

/** A run of a workflow as lists show it. */
export interface WorkflowSummary {
  /** Id of the run. */
  workflowId: string;
  /** Id of the workflow's job; of a sub-workflow: id of the run of its node. */
  jobId: string;
  /** Always "default" in this release. */
  tenant: string;
  /** Name as submitted; null: none. */
  name: string | null;
  /** Labels as submitted. */
  labels: Record<string, string>;
  /** Priority, 0 to 9. */
  priority: number;
  /** State of the run. */
  state: ExecutionState;
  /** Reason of the state, where the state does not say it; null: none. */
  reason: string | null;
  /** Mode of the run; null: the run is final, or has not started. */
  mode: RunMode | null;
  /** Whether the run is paused: no node starts until it is resumed. */
  paused: boolean;
  /** Number of nodes. */
  nodes: number;
  /** Time at which the server took the workflow. */
  createdAt: string;
  /** Time at which the run was to start. */
  scheduledAt: string;
  /** Time of the start; null: not started. */
  startedAt: string | null;
  /** Time of the end; null: not final. */
  finishedAt: string | null;
  /** Time by which the run must be final; null: not started. */
  deadline: string | null;
  /** Id of the run that this one retries; null: it is no retry. */
  retryOf: string | null;
  /** Node whose sub-workflow the run is, with the item if the node is a map; null: the workflow was submitted. */
  parent: { workflowId: string; node: string; item: number | null } | null;
}

/** A DEAD node of a run. */
export interface FailedNode {
  /** Name of the node. */
  name: string;
  /** Id of the node's execution; null: the node is a map, whose items have executions. */
  executionId: string | null;
  /** Number of the last attempt; 0: the node is a map. */
  attempt: number;
  /** Reason of the state, where the error does not say it; null: none. */
  reason: string | null;
  /** Error of the last attempt, or of the map; null: none. */
  error: ExecutionError | null;
  /** Time of the end; null: not known, or the node is a map. */
  finishedAt: string | null;
}

/** A run of a workflow. */
export interface Workflow extends WorkflowSummary {
  /** Effect of a DEAD node without `allowFailure`. */
  onFailure: "FAIL_FAST" | "CONTINUE";
  /** Ends after which the run is compensated; NEVER: no node declares a compensation. */
  compensate: CompensationPolicy;
  /** Input as submitted; of a sub-workflow: the payload of its node, with its references; null: none. */
  input: unknown;
  /** Output with its references replaced; null: none, or the run has not SUCCEEDED. */
  result: unknown;
  /** Cause of the state DEAD; null: the run is not DEAD. */
  error: ExecutionError | null;
  /** Number of nodes by state. */
  counts: Record<WorkflowNodeState, number>;
  /** The first 20 DEAD nodes, in the order of the definition. */
  failed: FailedNode[];
  /** The first 20 nodes whose compensations are DEAD, in the order of the definition. */
  failedCompensations: FailedNode[];
  /** Ids of the retries of this run, the newest first; at most 20. */
  retriedBy: string[];
}

/** Execution of a node in an earlier run, which has the result of the node. */
export interface KeptFrom {
  /** Id of the earlier run. */
  workflowId: string;
  /** Id of the node's execution in that run; null: the node is a map, whose items have executions. */
  executionId: string | null;
}

/** Compensation of a node. */
export interface NodeCompensation {
  /**
   * BLOCKED: it waits for other compensations. SUCCEEDED: the node is undone. SKIPPED: it does not run, because one for which
   * it waits has failed.
   */
  state: WorkflowNodeState;
  /** Id of its execution; null: it has none so far, or will never have one. */
  executionId: string | null;
  /** Handler that undoes the node. */
  handler: string;
  /** Pool of the compensation. */
  pool: string;
  /** Reason of the execution's state, where the state does not say it; null: none. */
  reason: string | null;
  /** Number of the current or last attempt; 0: none yet. */
  attempt: number;
  /** Error of the last attempt; null: none. */
  error: ExecutionError | null;
  /** Worker that has the execution, or had it last; null: none. */
  assignedWorker: string | null;
  /** First start of any attempt; null: none. */
  startedAt: string | null;
  /** Time of the end; null: not final. */
  finishedAt: string | null;
  /**
   * Nodes after this one whose compensations must SUCCEED first: their number, and the names of the first 20; null: the
   * compensation is neither BLOCKED nor SKIPPED.
   */
  after: { open: number; first: string[] } | null;
}

/** A node of a run. */
export interface WorkflowNode {
  /** Name of the node. */
  name: string;
  /** State of the node. */
  state: WorkflowNodeState;
  /** Id of the node's execution; null: the node has none so far, or will never have one. */
  executionId: string | null;
  /** Execution of an earlier run that counts for this retry; null: the run does not keep the node from another run. */
  keptFrom: KeptFrom | null;
  /** Handler of the node. */
  handler: string;
  /** Pool of the node. */
  pool: string;
  /** Reason of the execution's state, where the state does not say it; null: none. */
  reason: string | null;
  /** Number of the current or last attempt; 0: none yet. */
  attempt: number;
  /** Branch that the handler chose; null: none. */
  branch: string | null;
  /** Error of the last attempt; null: none. */
  error: ExecutionError | null;
  /** Worker that has the execution, or had it last; null: none. */
  assignedWorker: string | null;
  /** Time at which the execution was created; null: there is none. */
  createdAt: string | null;
  /** First start of any attempt; null: none. */
  startedAt: string | null;
  /** Time of the end; null: not final. */
  finishedAt: string | null;
  /** Nodes for which a BLOCKED node waits: their number, and the names of the first 20; null: the node is not BLOCKED. */
  blockedBy: { open: number; first: string[] } | null;
  /** Cause why the node is SKIPPED without an execution; null: it is not. */
  because: {
    kind: "DEPENDENCIES" | "WORKFLOW_FAILED" | "WORKFLOW_CANCELLED";
    /** The first 20 dependencies that can no longer be met, with the states of their nodes. */
    dependencies: { node: string; when: string; state: WorkflowNodeState }[];
  } | null;
  /** Compensation of the node; null: the run does not compensate the node, or not yet. */
  compensation: NodeCompensation | null;
  /**
   * Items of a map: numbers of those with an execution by state, of those that a retry keeps from earlier runs, and of all
   * (null: not counted yet); null: the node is no map.
   */
  items: (Record<ExecutionState, number> & { total: number | null; kept: number }) | null;
  /** Id of the run of the node's sub-workflow; null: it runs none, has none so far, or is a map, whose items have runs. */
  childWorkflowId: string | null;
}

/** Item of a map that has an execution. */
export interface WorkflowItem {
  /** Index in the array, from 0. */
  item: number;
  /** Id of the execution. */
  executionId: string;
  /** State of the execution. */
  state: ExecutionState;
  /** Reason of the state, where the state does not say it; null: none. */
  reason: string | null;
  /** Number of the current or last attempt; 0: none yet. */
  attempt: number;
  /** Error of the last attempt; null: none. */
  error: ExecutionError | null;
  /** Worker that has the execution, or had it last; null: none. */
  assignedWorker: string | null;
  /** Time at which the execution was created. */
  createdAt: string;
  /** First start of any attempt; null: none. */
  startedAt: string | null;
  /** Time of the end; null: not final. */
  finishedAt: string | null;
  /** Id of the run of the item's sub-workflow; null: it runs none. */
  childWorkflowId: string | null;
}

/** Result of an item of a map. */
export interface WorkflowResult<R = unknown> {
  /** Index in the array, from 0. */
  item: number;
  /** Id of the execution, which a retry may keep from an earlier run; null: there is none so far, or never. */
  executionId: string | null;
  /** State in which the item has ended; null: it has not. */
  state: "SUCCEEDED" | "DEAD" | "CANCELLED" | "SKIPPED" | null;
  /** Return value of the handler; null: it returned nothing, or the item has not SUCCEEDED. */
  result: R | null;
}

/** Part of a map's results, in the order of the items. */
export interface ResultsOptions {
  /** Index of the first item; default 0. */
  from?: number;
  /** Number of results that one request reads, 1 to 1000; default 1000. */
  limit?: number;
  signal?: AbortSignal;
}

/** Reasons why a node is in its state. */
export interface NodeExplanation {
  /** Id of the run. */
  workflowId: string;
  /** Name of the node. */
  node: string;
  /** State of the node. */
  state: WorkflowNodeState;
  /** Id of the node's execution; null: there is none. */
  executionId: string | null;
  /** Execution of an earlier run that counts for this retry; null: the run does not keep the node from another run. */
  keptFrom: KeptFrom | null;
  /** Every reason that applies now. */
  reasons: WaitReason[];
  /** The same about the compensation of the node; null: the run does not compensate the node, or not yet. */
  compensation: { state: WorkflowNodeState; executionId: string | null; reasons: WaitReason[] } | null;
}

/** Node of a graph, with the nodes that must end first. */
export interface WorkflowGraphNode {
  /** Name of the node. */
  name: string;
  /** Handler of the node. */
  handler: string;
  /** Pool of the node. */
  pool: string;
  /** State of the node. */
  state: WorkflowNodeState;
  /** Handler that undoes the node; null: the node declares none. */
  compensatedBy: string | null;
  /** State of the node's compensation; null: the run does not compensate the node, or not yet. */
  compensation: WorkflowNodeState | null;
  /** Execution of an earlier run that counts for this retry; null: the run does not keep the node from another run. */
  keptFrom: KeptFrom | null;
  /** ALL: every dependency must be met. ANY: one is enough. */
  join: "ALL" | "ANY";
  /** Whether the run can succeed although the node is DEAD or CANCELLED. */
  allowFailure: boolean;
  /** Nodes that must end first, and their ends. */
  dependsOn: { node: string; when: string }[];
  /** Node whose handler has added this one, and after which it runs; null: the definition has it. */
  addedBy: string | null;
  /** Whether the nodes that depend on the node that has added this one do not wait for it. */
  detached: boolean;
}

/** Graph of a run, with the states of its nodes. */
export interface WorkflowGraph {
  /** Id of the run. */
  workflowId: string;
  /** Effect of a DEAD node without `allowFailure`. */
  onFailure: "FAIL_FAST" | "CONTINUE";
  /** Nodes in the order of the definition. */
  nodes: WorkflowGraphNode[];
}

/** Event of a run. The option `lastEventId` of `follow` takes its `id`. */
export type WorkflowEvent =
  /** The run, at the start of the stream, when its mode or state changed, and when it was paused or resumed. */
  | { type: "workflow"; id: string; workflow: Workflow }
  /** A node whose state changed. */
  | { type: "node"; id: string; node: WorkflowNode };

/** Filter of a list of runs. */
export interface WorkflowFilter {
  state?: ExecutionState;
  name?: string;
  /** Id of a run: its sub-workflows. Absent: workflows that were submitted. */
  parent?: string;
  /** Runs created at or after this time. */
  since?: Date | string;
  /** Runs created before this time. */
  until?: Date | string;
  /** Number of runs per page; 1 to 1000. */
  limit?: number;
}
