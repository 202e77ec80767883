import process from "node:process";
import { Worker } from "@mainspring/sdk";
import { Command, Option } from "commander";
import { integer, repeated } from "../arguments/option-values.ts";
import { hideSecrets, takeEnvironment } from "../secret-environment.ts";
import { serviceManager } from "../service-manager.ts";
import { onStopSignal } from "../stop-signals.ts";
import { counted } from "../text/counted.ts";

interface WorkerOptions {
  url: string;
  pool: string;
  slots: number;
  prefetch: number | "auto";
  capability?: string[];
  name?: string;
}

export function workerCommand(): Command {
  return new Command("worker")
    .description("run a worker with the handlers echo, sleep, http and, if MAINSPRING_EXEC=on, exec")
    .addOption(
      new Option("--url <host:port>", "gRPC address of the server")
        .env("MAINSPRING_GRPC_URL")
        .default("127.0.0.1:8081"),
    )
    .option("--pool <name>", "the pool it serves", "default")
    .option("--slots <count>", "how many handlers run at once", integer(1, 10_000), 20)
    .option(
      "--prefetch <count>",
      "how many more may wait here, or auto: about 50 ms of work",
      (text) => (text === "auto" ? text : integer(0, 100_000)(text)),
      "auto",
    )
    .option("--capability <label>", "a label that executions may require; may be repeated", repeated)
    .option("--name <name>", "a name for people (default: host name and process id)")
    .addHelpText(
      "after",
      "\nMAINSPRING_WORKER_TLS_CERT and MAINSPRING_WORKER_TLS_KEY name the files of a certificate in PEM, for an API key that requires one.",
    )
    .addHelpText("after", "\nCtrl-C lets what runs finish and then leaves; a second one ends it at once.")
    .action(work);
}

async function work({ capability = [], name, ...options }: WorkerOptions): Promise<void> {
  const { builtInTasks, loadHandlerConfig, systemRuntime } = await import("@mainspring/server");
  const runtime = systemRuntime();
  const environment = takeEnvironment();
  const handlers = loadHandlerConfig(environment);
  if (handlers.exec) hideSecrets(environment);
  const manager = serviceManager();
  const tasks = builtInTasks(runtime, handlers);
  // The variable is no longer in the environment of the process. The SDK reads a file of a key by itself.
  const { MAINSPRING_API_KEY: apiKey = "", MAINSPRING_API_KEY_FILE: keyFile = "" } = environment;
  const worker = new Worker({
    ...options,
    ...(keyFile === "" && { apiKey }),
    tasks,
    capabilities: capability,
    ...(name !== undefined && { name }),
  });
  onStopSignal(runtime.monotonicMs, (signal) => {
    process.stdout.write(`${signal}: finishing what runs; once more ends it at once\n`);
    void manager.stopping("finishes what runs");
    // `closed` reports how the worker left.
    worker.stop().catch(() => undefined);
  });
  worker.start().then(
    () => {
      const names = tasks.map((task) => task.name);
      process.stdout.write(welcome(options, names));
      void manager.ready(`serves pool ${options.pool}`);
    },
    () => undefined,
  );
  await worker.closed;
}

function welcome({ url, pool, slots }: WorkerOptions, handlers: string[]): string {
  const noun = handlers.length === 1 ? "handler" : "handlers";
  return `connected to ${url}: pool ${pool}, ${counted(slots, "slot")}, ${noun} ${handlers.join(", ")}\n`;
}
