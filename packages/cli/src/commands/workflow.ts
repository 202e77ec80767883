import { EXECUTION_STATES, NODE_STATES } from "@mainspring/contract/enums";
import { MAP_ITEMS_MAX, PAGE_ITEMS_MAX } from "@mainspring/contract/limits";
import type { ExecutionState, WorkflowNodeState } from "@mainspring/sdk";
import { Command } from "commander";
import {
  type ConnectionOptions,
  type CreatedOptions,
  clientCommand,
  connect,
  type ListOptions,
  listCommand,
  pageOf,
  withCreated,
} from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { choiceOption, id, integer } from "../arguments/option-values.ts";
import { onWorkflow } from "../arguments/workflow-argument.ts";
import { nodesText, workflowItemsText, workflowResultsText, workflowsText } from "../text/workflow-text.ts";
import { workflowSignalCommand } from "./execution-steps.ts";
import { workflowExplainCommand } from "./workflow-explain.ts";
import { workflowGraphCommand } from "./workflow-graph.ts";
import { workflowRetryCommand } from "./workflow-retry.ts";
import { workflowShowCommand } from "./workflow-show.ts";
import { workflowSubmitCommand } from "./workflow-submit.ts";
import { workflowWatchCommand } from "./workflow-watch.ts";

interface WorkflowListOptions extends ListOptions, CreatedOptions {
  state?: ExecutionState;
  name?: string;
  parent?: string;
}

export function workflowCommand(): Command {
  return new Command("workflow")
    .alias("workflows")
    .description(
      "submit workflows, which are graphs of handlers, look at their runs, watch, pause, cancel and retry them",
    )
    .addCommand(workflowSubmitCommand())
    .addCommand(workflowListCommand())
    .addCommand(workflowShowCommand())
    .addCommand(nodesCommand())
    .addCommand(itemsCommand())
    .addCommand(resultsCommand())
    .addCommand(workflowWatchCommand())
    .addCommand(workflowExplainCommand())
    .addCommand(workflowGraphCommand())
    .addCommand(cancelCommand())
    .addCommand(workflowRetryCommand())
    .addCommand(pauseCommand())
    .addCommand(resumeCommand())
    .addCommand(workflowSignalCommand());
}

function workflowListCommand(): Command {
  const command = listCommand("list runs of workflows, newest first")
    .addOption(choiceOption("--state <state>", "only those in this state", EXECUTION_STATES))
    .option("--name <name>", "only those of this name")
    .option("--parent <workflowId>", "sub-workflows of this run, which are left out otherwise", id);
  return withCreated(command).action(
    async ({ state, name, parent, since, until, limit, ...connection }: WorkflowListOptions) => {
      const { client, output } = connect(connection);
      const filter = given({ state, name, parent, since, until, limit: pageOf(limit) });
      await output.list(client.workflows.list(filter), limit, workflowsText);
    },
  );
}

function nodesCommand(): Command {
  return clientCommand("nodes")
    .description("list the nodes of a run, in the order of its definition")
    .argument("<workflowId>", "", id)
    .addOption(choiceOption("--state <state>", "only those in this state", NODE_STATES))
    .option("--limit <count>", "how many at most", integer(1, 100_000), 100)
    .action(async (prefix: string, { state, limit, ...connection }: ListOptions & { state?: WorkflowNodeState }) => {
      const { client, output } = connect(connection);
      await onWorkflow(client, prefix, (workflowId) => {
        const nodes = client.workflows.nodes(workflowId, given({ state, limit: pageOf(limit) }));
        return output.list(nodes, limit, nodesText);
      });
    });
}

function itemsCommand(): Command {
  return clientCommand("items")
    .description("list the items of a map that have an execution, in their order")
    .argument("<workflowId>", "", id)
    .argument("<node>", "name of the map")
    .addOption(choiceOption("--state <state>", "only those in this state", EXECUTION_STATES))
    .option("--limit <count>", "how many at most", integer(1, 100_000), 100)
    .action(async (prefix: string, node: string, options: ListOptions & { state?: ExecutionState }) => {
      const { state, limit, ...connection } = options;
      const { client, output } = connect(connection);
      await onWorkflow(client, prefix, (workflowId) => {
        const items = client.workflows.items(workflowId, node, given({ state, limit: pageOf(limit) }));
        return output.list(items, limit, workflowItemsText);
      });
    });
}

function resultsCommand(): Command {
  return clientCommand("results")
    .description("read the results of a map, one for each item, in their order")
    .argument("<workflowId>", "", id)
    .argument("<node>", "name of the map")
    .option("--from <item>", "index of the first item", integer(0, MAP_ITEMS_MAX), 0)
    .option("--limit <count>", "how many at most", integer(1, MAP_ITEMS_MAX), 100)
    .action(async (prefix: string, node: string, options: ListOptions & { from: number }) => {
      const { from, limit, ...connection } = options;
      const { client, output } = connect(connection);
      await onWorkflow(client, prefix, (workflowId) => {
        const results = client.workflows.results(workflowId, node, { from, limit: Math.min(limit, PAGE_ITEMS_MAX) });
        return output.list(results, limit, workflowResultsText);
      });
    });
}

function cancelCommand(): Command {
  return clientCommand("cancel")
    .description("cancel a run that is not final: no further node starts, and nodes that have started are cancelled")
    .argument("<workflowId>", "", id)
    .action(async (prefix: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const { workflowId, outcome } = await onWorkflow(client, prefix, async (workflowId) => {
        return { workflowId, outcome: await client.workflows.cancel(workflowId) };
      });
      const requested = "cancellation requested: the run is CANCELLED when workers have stopped its nodes";
      output.print({ workflowId, outcome }, () => (outcome === "CANCELLED" ? "cancelled" : requested));
    });
}

function pauseCommand(): Command {
  return clientCommand("pause")
    .description("pause a run: no node of it starts until it is resumed; attempts that run go on")
    .argument("<workflowId>", "", id)
    .action(async (prefix: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const { workflowId, outcome } = await onWorkflow(client, prefix, async (workflowId) => {
        return { workflowId, outcome: await client.workflows.pause(workflowId) };
      });
      const requested = "pause requested: `workflow show` says when the run is paused";
      output.print({ workflowId, outcome }, () => (outcome === "PAUSED" ? "paused" : requested));
    });
}

function resumeCommand(): Command {
  return clientCommand("resume")
    .description("resume a run that was paused")
    .argument("<workflowId>", "", id)
    .action(async (prefix: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const { workflowId, outcome } = await onWorkflow(client, prefix, async (workflowId) => {
        return { workflowId, outcome: await client.workflows.resume(workflowId) };
      });
      const requested = "resume requested: `workflow show` says when the run goes on";
      output.print({ workflowId, outcome }, () => (outcome === "RESUMED" ? "resumed" : requested));
    });
}
