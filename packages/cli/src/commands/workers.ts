import type { WorkerInfo } from "@mainspring/sdk";
import { Command } from "commander";
import {
  type ConnectionOptions,
  clientCommand,
  connect,
  type ListOptions,
  listCommand,
} from "../connection-options.ts";
import { table } from "../output.ts";

export function workersCommand(): Command {
  return new Command("workers")
    .description("look at workers, and have them leave")
    .addCommand(
      listCommand("list the workers that the server knows").action(async (options: ListOptions) => {
        const { client, output } = connect(options);
        await output.list(known(await client.workers()), options.limit, workersText);
      }),
    )
    .addCommand(drainCommand());
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

function workersText(workers: readonly WorkerInfo[]): string {
  if (workers.length === 0) return "no workers: `mainspring worker` runs one";
  const rows = workers.map((worker) => [
    worker.workerId,
    worker.name,
    worker.state,
    worker.pool,
    `${worker.running} of ${worker.slots}`,
    worker.handlers.join(","),
    worker.capabilities.join(",") || "-",
    worker.lastHeartbeatAt,
  ]);
  return table(["WORKER", "NAME", "STATE", "POOL", "RUNNING", "HANDLERS", "CAPABILITIES", "HEARTBEAT"], rows);
}
