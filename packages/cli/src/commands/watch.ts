import process from "node:process";
import type { Client, ExecutionEvent, ExecutionState } from "@mainspring/sdk";
import type { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { executionIdsOf } from "../arguments/id-argument.ts";
import { ids } from "../arguments/option-values.ts";
import { LiveLines } from "../text/live-lines.ts";
import type { Output } from "../text/output.ts";
import { WatchedExecution } from "../text/watched-execution.ts";
import { exitBy } from "../wait.ts";

export function watchCommand(): Command {
  return clientCommand("watch")
    .description("follow executions until they are final: state, progress, log; exit code 4 if one did not succeed")
    .argument("<executionIds...>", "", ids)
    .action(watch);
}

async function watch(prefixes: string[], options: ConnectionOptions): Promise<void> {
  const { client, output } = connect(options);
  const executionIds = await executionIdsOf(client, prefixes);
  // Following retries through every failure of the server, so an unknown execution must be reported first.
  await Promise.all(executionIds.map((executionId) => client.getExecution(executionId)));
  const follow = output.json ? followForPrograms(client, output) : followForTerminal(client, executionIds);
  const ends = await Promise.all([...new Set(executionIds)].map(follow));
  exitBy(...ends);
}

/** Follows an execution. @returns last state that was shown */
type Follow = (executionId: string) => Promise<ExecutionState | null>;

function followForPrograms(client: Client, output: Output): Follow {
  return (executionId) => following(client, executionId, (event) => output.print({ executionId, ...event }, () => ""));
}

function followForTerminal(client: Client, executionIds: readonly string[]): Follow {
  const lines = new LiveLines(process.stdout);
  const watched = new Map(executionIds.map((executionId) => [executionId, new WatchedExecution(executionId)]));
  const alone = watched.size === 1;
  return (executionId) =>
    following(client, executionId, (event) => {
      const said = watched.get(executionId)?.say(event, lines.isTerminal);
      if (said != null) lines.print(alone ? said : `${executionId}  ${said}`);
      lines.show([...watched.values()].map((one) => one.line()));
    });
}

async function following(
  client: Client,
  executionId: string,
  tell: (event: ExecutionEvent) => void,
): Promise<ExecutionState | null> {
  let state: ExecutionState | null = null;
  for await (const event of client.follow(executionId)) {
    if (event.type === "state") state = event.execution.state;
    tell(event);
  }
  return state;
}
