import process from "node:process";
import type { Client, Workflow } from "@mainspring/sdk";
import type { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { id } from "../arguments/option-values.ts";
import { onWorkflow } from "../arguments/workflow-argument.ts";
import { LiveLines } from "../text/live-lines.ts";
import type { Output } from "../text/output.ts";
import { WatchedWorkflow } from "../text/watched-workflow.ts";
import { exitBy } from "../wait.ts";

/** Shortest time between two drawings of the run, in milliseconds: many nodes may end at once. */
const DRAW_EVERY_MS = 100;
/** Rows of the screen, where the terminal does not say how many it has. */
const ROWS = 24;

export function workflowWatchCommand(): Command {
  return clientCommand("watch")
    .description("follow a run until it is final: its nodes and their states; exit code 4 if it did not succeed")
    .argument("<workflowId>", "", id)
    .action(async (prefix: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      exitBy(await onWorkflow(client, prefix, (workflowId) => watchRun(client, output, workflowId)));
    });
}

/** Shows a run until it is final. @returns its last state */
export async function watchRun(client: Client, output: Output, workflowId: string): Promise<Workflow["state"] | null> {
  // The server's package takes long to load, and only this command needs a clock.
  const { systemRuntime } = await import("@mainspring/server");
  const runtime = systemRuntime();
  const watched = new WatchedWorkflow(await client.workflows.graph(workflowId));
  const lines = new LiveLines(process.stdout);
  let timer: ReturnType<typeof runtime.setTimer> | null = null;
  const draw = () => {
    timer = null;
    lines.show(watched.lines((process.stdout.rows ?? ROWS) - 2));
  };
  for await (const event of client.workflows.follow(workflowId)) {
    if (event.type === "node" && !watched.knows(event.node.name))
      watched.extend(await client.workflows.graph(workflowId));
    const change = watched.see(event);
    if (change === null) continue;
    if (output.json) {
      output.print(change, () => "");
      continue;
    }
    const said = watched.say(lines.isTerminal);
    if (said !== null) lines.print(`${new Date(runtime.now()).toISOString()}  ${said}`);
    timer ??= runtime.setTimer(DRAW_EVERY_MS, draw);
  }
  timer?.cancel();
  if (!output.json) draw();
  return watched.state;
}
