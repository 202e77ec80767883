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
}

/** Graph of a workflow. Each node comes after its parents. */
export interface Graph {
  onFailure: "FAIL_FAST" | "CONTINUE";
  uniqueKey: string | null;
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

/** Events of workflows, which clients write. */
export type WorkflowEvent =
  /** Written before the request is sent. `idempotent`: the client repeats the request until it is answered. */
  | { event: "WORKFLOW_INTENDED"; at: number; key: string; shape: string; idempotent: boolean; graph: Graph }
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
  | { event: "WORKFLOW_SEEN_FINAL"; at: number; workflowId: string; state: string };

/** Key of a node's payload. */
export function nodeKey(run: string, name: string): string {
  return `${run}/${name}`;
}
