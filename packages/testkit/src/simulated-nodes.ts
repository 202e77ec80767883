import type { Client, Execution, WorkflowNode, WorkflowNodeState } from "@mainspring/sdk";

/** A node of a run, with its execution. */
export interface SimulatedNode extends WorkflowNode {
  /** Return value of the handler, as JSON; null: none so far. */
  result: unknown;
  /** Number of attempts that have failed or timed out. */
  failures: number;
  /** Attempts that have ended, the oldest first. */
  attempts: Execution["attempts"];
}

export async function statesOf(client: Client, workflowId: string): Promise<Record<string, WorkflowNodeState>> {
  const { nodes } = await client.workflows.graph(workflowId);
  return Object.fromEntries(nodes.map(({ name, state }) => [name, state]));
}

/** @throws {Error} there is no such node */
export async function simulatedNode(client: Client, workflowId: string, name: string): Promise<SimulatedNode> {
  const names: string[] = [];
  for await (const node of client.workflows.nodes(workflowId)) {
    names.push(node.name);
    if (node.name !== name) continue;
    const executionId = node.executionId ?? node.keptFrom?.executionId ?? null;
    if (executionId === null) return { ...node, result: null, failures: 0, attempts: [] };
    const { result, failures, attempts } = await client.getExecution(executionId);
    return { ...node, result, failures, attempts };
  }
  throw new Error(`the run has no node ${JSON.stringify(name)}, but ${names.join(", ")}`);
}
