import type { Client, Workflow, WorkflowNode } from "@mainspring/sdk";
import type { Command } from "commander";
import { clientCommand, connect, type ListOptions, pageOf } from "../arguments/connection-options.ts";
import { id, integer } from "../arguments/option-values.ts";
import { onWorkflow } from "../arguments/workflow-argument.ts";
import type { Output } from "../text/output.ts";
import { workflowText } from "../text/workflow-text.ts";
import { waitForWorkflow } from "../wait.ts";

/** Number of nodes that the text of a run has, unless --limit says otherwise. */
const NODES = 50;

export function workflowShowCommand(): Command {
  return clientCommand("show")
    .alias("get")
    .description("show a run: its state, its nodes, and for which nodes the blocked ones wait")
    .argument("<workflowId>", "", id)
    .option("--limit <count>", "how many nodes at most", integer(1, 100_000), NODES)
    .option("--wait", "wait until it is final; exit code 4 if it did not succeed")
    .action(async (prefix: string, options: ListOptions & { wait?: boolean }) => {
      const { client, output } = connect(options);
      await onWorkflow(client, prefix, async (workflowId) => {
        const run = await (options.wait ? waitForWorkflow(client, workflowId) : client.workflows.get(workflowId));
        await printRun(client, output, run, options.limit);
      });
    });
}

/** Prints a run; for people with its first nodes. */
export async function printRun(client: Client, output: Output, run: Workflow, limit = NODES): Promise<void> {
  const nodes = output.json ? [] : await firstNodes(client, run.workflowId, limit);
  output.print(run, () => workflowText(run, nodes));
}

async function firstNodes(client: Client, workflowId: string, limit: number): Promise<WorkflowNode[]> {
  const nodes: WorkflowNode[] = [];
  for await (const node of client.workflows.nodes(workflowId, { limit: pageOf(limit) }))
    if (nodes.push(node) >= limit) break;
  return nodes;
}
