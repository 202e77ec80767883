import process from "node:process";
import type { Client, ExecutionEvent, ExecutionState } from "@mainspring/sdk";
import type { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../connection-options.ts";
import { EXIT } from "../exit-codes.ts";
import { executionIdsOf } from "../id-argument.ts";
import { LiveLines } from "../live-lines.ts";
import { ids } from "../option-values.ts";
import type { Output } from "../output.ts";
import { WatchedExecution } from "../watched-execution.ts";

export function watchCommand(): Command {
  return clientCommand("watch")
    .description("follow executions until they are final: state, progress, log; exit code 4 if one did not succeed")
    .argument("<executionIds...>", "", ids)
    .action(watch);
}

async function watch(prefixes: string[], options: ConnectionOptions): Promise<void> {
  const { client, output } = connect(options);
  const executionIds = await executionIdsOf(client, prefixes);
  // Following goes on through every failure of the server; one that is not there at all is to be told.
  await Promise.all(executionIds.map((executionId) => client.getExecution(executionId)));
  const follow = output.json ? followForPrograms(client, output) : followForPeople(client, executionIds);
  const ends = await Promise.all([...new Set(executionIds)].map(follow));
  if (ends.some((state) => state !== "SUCCEEDED")) process.exitCode = EXIT.notSucceeded;
}

/** Follows an execution. @returns its last state that was told */
type Follow = (executionId: string) => Promise<ExecutionState | null>;

function followForPrograms(client: Client, output: Output): Follow {
  return (executionId) => following(client, executionId, (event) => output.print({ executionId, ...event }, () => ""));
}

function followForPeople(client: Client, executionIds: readonly string[]): Follow {
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
