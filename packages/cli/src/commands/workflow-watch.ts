import process from "node:process";
import type { Client, Workflow } from "@mainspring/sdk";
import type { systemRuntime } from "@mainspring/server";
import type { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { id } from "../arguments/option-values.ts";
import { onWorkflow } from "../arguments/workflow-argument.ts";
import { LiveLines } from "../text/live-lines.ts";
import type { Output } from "../text/output.ts";
import { isFinal, WatchedWorkflow } from "../text/watched-workflow.ts";
import { exitBy } from "../wait.ts";

/** Time between two looks at a run, in milliseconds. The server ends it early when the run is final. */
const LOOK_EVERY_MS = 500;
/** The same for a run with many nodes, because every look reads all of them. */
const LOOK_SELDOM_MS = 5_000;
const MANY_NODES = 1_000;
/** Rows of the screen, where the terminal does not say how many it has. */
const ROWS = 24;

export function workflowWatchCommand(): Command {
  return clientCommand("watch")
    .description("follow a run until it is final: its nodes and their states; exit code 4 if it did not succeed")
    .argument("<workflowId>", "", id)
    .action(async (prefix: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      exitBy(await onWorkflow(client, prefix, (workflowId) => follow(client, output, workflowId)));
    });
}

/** Shows a run until it is final. @returns its last state */
async function follow(client: Client, output: Output, workflowId: string): Promise<Workflow["state"]> {
  // The server's package takes long to load, and only this command needs a clock.
  const { systemRuntime } = await import("@mainspring/server");
  const runtime = systemRuntime();
  const lines = new LiveLines(process.stdout);
  const watched = new WatchedWorkflow();
  for (let workflow = await client.workflows.get(workflowId); ; workflow = await next(client, runtime, workflow)) {
    const graph = await client.workflows.graph(workflowId);
    const change = watched.see(workflow, graph.nodes);
    if (output.json) {
      if (change !== null) output.print(change, () => "");
    } else {
      for (const line of watched.say(lines.isTerminal))
        lines.print(`${new Date(runtime.now()).toISOString()}  ${line}`);
      lines.show(watched.lines((process.stdout.rows ?? ROWS) - 2));
    }
    if (isFinal(workflow.state)) return workflow.state;
  }
}

type Runtime = ReturnType<typeof systemRuntime>;

async function next(client: Client, runtime: Runtime, { workflowId, nodes }: Workflow): Promise<Workflow> {
  const everyMs = nodes > MANY_NODES ? LOOK_SELDOM_MS : LOOK_EVERY_MS;
  const askedMs = runtime.monotonicMs();
  const workflow = await client.workflows.get(workflowId, { waitSec: everyMs / 1_000 });
  const earlyMs = everyMs - (runtime.monotonicMs() - askedMs);
  // A proxy may answer at once, and must not be asked without a pause.
  if (earlyMs > 0 && !isFinal(workflow.state)) await new Promise<void>((resolve) => runtime.setTimer(earlyMs, resolve));
  return workflow;
}
