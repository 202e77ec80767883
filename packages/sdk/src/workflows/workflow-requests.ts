import type { Priority, RetryPolicy } from "../client/api-types.ts";
import type { CronSchedule, IntervalSchedule, RecurrenceOptions } from "../client/recurring-types.ts";
import type { OnFinish } from "../client/webhook-types.ts";

/**
 * Ends of a run after which its SUCCEEDED nodes are compensated, in reverse. ON_FAILURE (default): DEAD.
 * ON_FAILURE_OR_CANCEL: DEAD or CANCELLED. NEVER: none.
 */
export type CompensationPolicy = "ON_FAILURE" | "ON_FAILURE_OR_CANCEL" | "NEVER";

/** Policies of nodes; they mean the same as for jobs. */
export interface NodePolicies {
  /** Rules for retries after failures. */
  retryPolicy?: RetryPolicy;
  /** Hard limit of the run time of one attempt, in seconds; default 3600. */
  timeoutSec?: number;
  /** Time that a cancelled handler has to stop, in seconds; default 10. */
  cancelGraceSec?: number;
  /** Number of lost workers after which the node is DEAD; default 3. */
  maxLost?: number;
  /** Consequence of a lost worker: RETRY (default) runs the node again, DEAD ends it. */
  onWorkerLost?: "RETRY" | "DEAD";
  /** Priority: 0 to 9, or LOW (2), NORMAL (5, the default), HIGH (7), CRITICAL (9). */
  priority?: Priority;
}

/** Concurrency key of a node or compensation. Each item of a map takes its turn at the key. */
export interface NodeKey {
  /** Concurrency key: at most `concurrencyLimit` executions of the key run at once, those of jobs and of nodes of any runs. */
  concurrencyKey?: string;
  /** Number of executions of the concurrency key that may run at once; default 1. The newest execution counts. */
  concurrencyLimit?: number;
}

/** A node that must end first, and its end (`when`): SUCCEEDED (default), FAILED, FINISHED, or BRANCH:x. */
export type WorkflowDependency = string | { node: string; when?: string };

/** Handler, pool of the workers, and capabilities that a worker must have. */
export interface WorkflowTarget {
  handler: string;
  pool?: string;
  requires?: readonly string[];
}

/** Work that undoes a node if it SUCCEEDED and the run fails afterwards. */
export interface WorkflowCompensation extends NodePolicies, NodeKey {
  target: WorkflowTarget;
  /**
   * Input of the handler, with references to the node itself, to nodes before it, and to `$input`. Default: `payload`, as
   * the node got it, `result`, the result of the node, and `input`, the input of the workflow.
   */
  payload?: unknown;
}

/** Node of a workflow to submit. */
export interface WorkflowNodeRequest extends NodePolicies, NodeKey {
  /** Name, unique in the workflow: 1 to 64 characters of A-Z a-z 0-9 _ . - */
  name: string;
  /** Handler, pool of the workers, and capabilities that a worker must have. A node has this or `workflow`. */
  target?: WorkflowTarget;
  /** A whole workflow that the node runs: `payload` is its input, and its output is the result of the node. */
  workflow?: SubWorkflowRequest;
  /**
   * Input of the handler: any JSON value, at most 1 MiB. In it, `{ $from: "node", path: ["a", 0] }` stands for the result
   * of an earlier node, or the part of it at `path`; `$from: "$input"` for the input of the workflow. `{ $results: "map" }`
   * stands for the list of the results of the map's items, with null for those that have not succeeded. `{ $literal: value }`
   * takes a value as it is.
   */
  payload?: unknown;
  /** Nodes that must end first; absent: the node runs at once. */
  dependsOn?: readonly WorkflowDependency[];
  /** ALL (default): the node runs when all dependencies are met. ANY: when one is met. */
  join?: "ALL" | "ANY";
  /** Whether the run can succeed although the node is DEAD or CANCELLED; default false. */
  allowFailure?: boolean;
  /** Work that undoes the node; absent: the node is not compensated. */
  compensate?: WorkflowCompensation;
  /**
   * Array of up to 100,000 items: the result of an earlier node, or a part of it at `path`; or the input of the workflow. The
   * node runs once for each item. In its payload `{ $item: true, path: ["a", 0] }` stands for the item, or a part of it, and
   * `{ $index: true }` for its index.
   */
  map?: "$input" | { $from: string; path?: readonly (string | number)[] };
  /** Number of items of a map that exist and have not ended at a time; default 4,000, the limit of a run. */
  maxRunning?: number;
  /** Number of DEAD items with which a map still succeeds; default 0. */
  tolerate?: { failures: number };
}

/** Workflow that a node runs; up to 5 levels deep. */
export interface SubWorkflowRequest {
  /** Nodes; 10,000 with those of all workflows around and in it. */
  nodes: readonly WorkflowNodeRequest[];
  /** Effect of a DEAD node without `allowFailure`: FAIL_FAST (default) or CONTINUE. */
  onFailure?: "FAIL_FAST" | "CONTINUE";
  /** Ends of its run after which its nodes are compensated; default ON_FAILURE. */
  compensate?: CompensationPolicy;
  /** Result of the node: any JSON value with references, at most 64 KiB. */
  output?: unknown;
  /** Values for nodes that leave them out; those that are absent are of the workflow around it. */
  defaults?: NodePolicies & { pool?: string };
}

/** Body of POST /v1/workflows. */
export interface WorkflowRequest {
  /** Name, 1 to 255 characters; several workflows may have one name. */
  name?: string;
  /** Labels; up to 64. */
  labels?: Record<string, string>;
  /** Priority of the run, and of nodes that have none of their own and none by `defaults`. */
  priority?: Priority;
  /** Time for the whole run, in seconds; default 31,536,000. */
  timeoutSec?: number;
  /** Effect of a DEAD node without `allowFailure`: FAIL_FAST (default) or CONTINUE. */
  onFailure?: "FAIL_FAST" | "CONTINUE";
  /** Ends of a run after which its nodes are compensated; default ON_FAILURE. */
  compensate?: CompensationPolicy;
  /** Unique key: at most one run or execution that is not final has it. */
  uniqueKey?: string;
  /** Receiver of a webhook when a run is final. */
  onFinish?: OnFinish;
  /** Concurrency key: at most `concurrencyLimit` runs and executions of the key are open at once. */
  concurrencyKey?: string;
  /** Number of runs and executions of the concurrency key that may be open at once; default 1. The newest one counts. */
  concurrencyLimit?: number;
  /** Start of the run: a Date, or ISO 8601 with a zone; the past means now. Default: now. */
  runAt?: Date | string;
  /** Delay of the start in milliseconds; not together with `runAt`. */
  delayMs?: number;
  /** Time by which the run must have started, or it is SKIPPED. */
  startBefore?: Date | string;
  /** Input of the run, to which payloads refer: any JSON value, at most 1 MiB. */
  input?: unknown;
  /** Result of the run once it has SUCCEEDED: any JSON value with references, at most 64 KiB. */
  output?: unknown;
  /** Values for nodes that leave them out. */
  defaults?: NodePolicies & { pool?: string };
  /** 1 to 10,000 nodes. */
  nodes: readonly WorkflowNodeRequest[];
}

/** Body of POST /v1/workflows for a workflow that recurs. Its name is unique among recurring jobs. */
export type RecurringWorkflowRequest = Omit<WorkflowRequest, "runAt" | "delayMs" | "startBefore"> &
  (CronSchedule | IntervalSchedule) &
  RecurrenceOptions;
