import { digestOf } from "./digest.ts";

/** Edge of a workflow's graph. `when`: SUCCEEDED, FAILED, FINISHED or `BRANCH:<name>`. */
export interface GraphEdge {
  node: string;
  when: string;
}

/** Node of a workflow, with the outcome of its handler. */
export interface GraphNode {
  name: string;
  dependsOn: GraphEdge[];
  join: "ALL" | "ANY";
  allowFailure: boolean;
  /** Whether every attempt fails. */
  isDoomed: boolean;
  /** Branch that the handler names when it succeeds; null: none. */
  branch: string | null;
  /** Nodes before it to whose results its payload refers, and `$input`. */
  refersTo: string[];
}

/** Graph of a workflow. Each node comes after its parents. */
export interface Graph {
  onFailure: "FAIL_FAST" | "CONTINUE";
  uniqueKey: string | null;
  /** Node whose result is the output of the run; null: the workflow has no output. */
  output: string | null;
  nodes: GraphNode[];
}

/** Part of a node's payload that its handler writes into the history of its worker. */
export interface NodeOfRun {
  /** Key of the workflow, which is the name of its run. */
  run: string;
  name: string;
  /** Branch that the handler names when it succeeds; null: none. */
  branch: string | null;
}

/** A retry of a run. */
export interface RetryOf {
  workflowId: string;
  /** Key of the first run, which handlers of all retries write down. */
  run: string;
  /** Nodes that run again although they have succeeded. */
  from: string[];
}

/** Events of workflows, which clients write. */
export type WorkflowEvent =
  /**
   * Written before the request is sent. `idempotent`: the client repeats the request until it is answered. `retryOf`: the
   * request retries a run; left out: it submits a workflow.
   */
  | {
      event: "WORKFLOW_INTENDED";
      at: number;
      key: string;
      shape: string;
      idempotent: boolean;
      graph: Graph;
      retryOf?: RetryOf;
    }
  /** `executionIds`: executions of the nodes without parents, by name. */
  | {
      event: "WORKFLOW_ANSWERED";
      at: number;
      key: string;
      workflowId: string;
      executionIds: Record<string, string>;
      deduplicated: boolean;
    }
  /** The server refused the request. */
  | { event: "WORKFLOW_REFUSED"; at: number; key: string; message: string }
  /** The client read that the run is final. */
  | { event: "WORKFLOW_SEEN_FINAL"; at: number; workflowId: string; state: string }
  /** The server has confirmed that the run is paused. */
  | { event: "WORKFLOW_PAUSED"; at: number; workflowId: string }
  /** Written before the run is resumed. */
  | { event: "WORKFLOW_RESUME_ASKED"; at: number; workflowId: string };

/** Key of a node's payload. */
export function nodeKey(run: string, name: string): string {
  return `${run}/${name}`;
}

/** Input of a workflow. */
export function inputOf(run: string): { executionId: string } {
  return { executionId: `input of ${run}` };
}

/** Values that a handler got in place of its references to one node: the whole result, and the part of it at `executionId`. */
export function givenValue(result: unknown, executionId: unknown): string {
  return givenDigest(digestOf(result), executionId);
}

/** @param resultSha digest of the whole result */
export function givenDigest(resultSha: string, executionId: unknown): string {
  return `${resultSha} of ${executionId}`;
}
