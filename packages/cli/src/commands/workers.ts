import type { WorkerInfo } from "@mainspring/sdk";
import { Command } from "commander";
import {
  type ConnectionOptions,
  clientCommand,
  connect,
  type ListOptions,
  listCommand,
} from "../arguments/connection-options.ts";
import { workersText, workerText } from "../text/worker-text.ts";

export function workersCommand(): Command {
  return new Command("workers")
    .description("look at workers, and have them leave")
    .addCommand(
      listCommand("list the workers that the server knows").action(async (options: ListOptions) => {
        const { client, output } = connect(options);
        await output.list(known(await client.workers()), options.limit, workersText);
      }),
    )
    .addCommand(getCommand())
    .addCommand(drainCommand());
}

function getCommand(): Command {
  return clientCommand("get")
    .description("look at a worker, and at the executions that it has")
    .argument("<workerId>")
    .action(async (workerId: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const worker = await client.getWorker(workerId);
      output.print(worker, () => workerText(worker));
    });
}

function drainCommand(): Command {
  return clientCommand("drain")
    .description("have a worker take no more work, hand back what it has not started, and end when it is done")
    .argument("<workerId>")
    .action(async (workerId: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const worker = await client.drainWorker(workerId);
      output.print(worker, () => workersText([worker]));
    });
}

async function* known(workers: readonly WorkerInfo[]): AsyncGenerator<WorkerInfo, void, undefined> {
  yield* workers;
}
