import type { Client, Workflow } from "@mainspring/sdk";
import type { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { id } from "../arguments/option-values.ts";
import { onNode, onWorkflow } from "../arguments/workflow-argument.ts";
import type { Output } from "../text/output.ts";
import { nodeExplanationText, runExplanationText } from "../text/workflow-text.ts";

/** Largest number of nodes that the explanation of a run has. */
const NODES_MAX = 20;
/** States of nodes that have an execution which is not final, the nearest to its end first. */
const LIVE = ["RUNNING", "SCHEDULED", "PENDING"] as const;

export function workflowExplainCommand(): Command {
  return clientCommand("explain")
    .description("say why a node waits, or why the run is not final: every reason that holds now")
    .argument("<workflowId>", "", id)
    .argument("[node]", "name of a node; default: the first 20 nodes that run or could run")
    .action(async (prefix: string, node: string | undefined, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      await onWorkflow(client, prefix, async (workflowId) => {
        if (node === undefined) return await explainRun(client, output, await client.workflows.get(workflowId));
        const explanation = await onNode(client, workflowId, node, () => client.workflows.explain(workflowId, node));
        output.print(explanation, () => nodeExplanationText(explanation));
      });
    });
}

async function explainRun(client: Client, output: Output, workflow: Workflow): Promise<void> {
  const names = await liveNodes(client, workflow);
  const explanations = await Promise.all(names.map((name) => client.workflows.explain(workflow.workflowId, name)));
  if (!output.json) return output.print(null, () => runExplanationText(workflow, explanations));
  for (const explanation of explanations) output.print(explanation, () => "");
}

async function liveNodes(client: Client, { workflowId, mode, counts }: Workflow): Promise<string[]> {
  const names: string[] = [];
  if (mode === "COMPENSATING") {
    for await (const { name, compensation } of client.workflows.nodes(workflowId, { state: "SUCCEEDED" })) {
      const isLive = LIVE.some((state) => state === compensation?.state);
      if (isLive && names.push(name) === NODES_MAX) return names;
    }
    return names;
  }
  for (const state of LIVE) {
    if (counts[state] === 0) continue;
    for await (const { name } of client.workflows.nodes(workflowId, { state, limit: NODES_MAX })) {
      if (names.length >= NODES_MAX) return names;
      // A node that has changed its state between two requests is listed once.
      if (!names.includes(name)) names.push(name);
    }
  }
  return names;
}
