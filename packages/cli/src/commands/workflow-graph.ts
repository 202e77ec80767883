import type { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { choiceOption, id, integer } from "../arguments/option-values.ts";
import { onWorkflow } from "../arguments/workflow-argument.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { Output } from "../text/output.ts";
import { graphText } from "../text/workflow-graph-text.ts";

interface GraphOptions extends ConnectionOptions {
  format?: (typeof FORMATS)[number];
  lines: number;
}

const FORMATS = ["text", "mermaid", "dot", "json"] as const;
const LINES = 100;

export function workflowGraphCommand(): Command {
  return clientCommand("graph")
    .description("draw the graph of a run, with the states of its nodes: each layer waits for layers above it")
    .argument("<workflowId>", "", id)
    .addOption(choiceOption("--format <format>", "form of the graph (default: text)", FORMATS))
    .option("--lines <count>", "how many lines of text at most", integer(10, 100_000), LINES)
    .action(async (prefix: string, { format = "text", lines, ...connection }: GraphOptions) => {
      const { client, output } = connect(connection);
      if (output.json && format !== "text" && format !== "json")
        throw new Failure(`--json is the format json: leave it out for --format ${format}`, EXIT.usage);
      await onWorkflow(client, prefix, async (workflowId) => {
        if (format === "mermaid" || format === "dot") {
          const text = await client.workflows.graphText(workflowId, format);
          return output.print(null, () => text.trimEnd());
        }
        const graph = await client.workflows.graph(workflowId);
        new Output(output.json || format === "json").print(graph, () => graphText(graph, lines));
      });
    });
}
