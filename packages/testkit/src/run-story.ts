import type { Client, WorkflowNode } from "@mainspring/sdk";
import { type Teller, waitOf } from "./story.ts";

/** Number of the node in the row of a run. */
export const RUN = -1;
/** Nodes that the story of a run shows. */
const NODES_MAX = 20;

/** Events of a run so far: its nodes, with their errors and the reasons why they wait; a text of several lines, for people. */
export async function runStoryOf(client: Client, workflowId: string, teller: Teller): Promise<string> {
  const { name, state, reason, error, counts } = await client.workflows.get(workflowId);
  const why = error?.message ?? reason;
  const head = `workflow ${name ?? "without a name"} (run ${workflowId}) is ${state}${why === null ? "" : `: ${why}`}`;
  const lines: string[] = [];
  for await (const node of client.workflows.nodes(workflowId)) {
    if (node.state === "SUCCEEDED" || lines.length >= NODES_MAX) continue;
    lines.push(`  ${node.name} is ${node.state}${aboutNode(node, teller)}`);
  }
  return [head, `  ${counts.SUCCEEDED} nodes have SUCCEEDED`, ...lines].join("\n");
}

function aboutNode({ executionId, blockedBy, error, reason, attempt }: WorkflowNode, teller: Teller): string {
  if (error !== null) return ` after ${attempt} attempts: ${error.name}: ${error.message}`;
  if (blockedBy !== null && blockedBy.open > 0) return `: it waits for ${blockedBy.first.join(", ")}`;
  const row = executionId === null ? undefined : teller.data.executions.get(executionId);
  const waits = row === undefined ? [] : waitOf(row, teller);
  return [...(reason === null ? [] : [reason]), ...waits].map((line) => `: ${line}`).join("");
}
