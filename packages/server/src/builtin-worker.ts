import type { Task } from "@mainspring/sdk";
import { createWorkerCore, type WorkerLife, type WorkerLink } from "@mainspring/sdk/worker-core";
import type { Logger } from "pino";
import { DEFAULT_POOL } from "./domain/job.ts";
import type { Gateway } from "./gateway/gateway.ts";
import type { Runtime } from "./ports/runtime.ts";
import { builtinWorkerId } from "./shard/takeover.ts";

const SLOTS = 100;
const PREFETCH = 1_000;

export interface BuiltinWorkerParts {
  gateway: Gateway;
  /** Of the server that it lives in. */
  incarnation: string;
  runtime: Runtime;
  log: Logger;
  tasks: readonly Task[];
}

/** The worker inside a server: the same session and executor as every worker's, without a socket between. */
export function builtinWorker({ gateway, incarnation, runtime, log, tasks }: BuiltinWorkerParts): WorkerLife {
  return createWorkerCore(
    {
      workerId: builtinWorkerId(incarnation),
      name: "built-in",
      pool: DEFAULT_POOL,
      capabilities: [],
      slots: SLOTS,
      prefetch: PREFETCH,
      tasks,
      runtime,
      warn: (message) => log.warn(message),
    },
    linkTo(gateway),
  );
}

/** Neither side is called from within its own call, as over a network. */
export function linkTo(gateway: Gateway): WorkerLink {
  return {
    open: (events) => {
      const worker = gateway.connect({
        send: (message) => queueMicrotask(() => events.message(message)),
        close: (_code, message) => queueMicrotask(() => events.closed({ message })),
      });
      return {
        send: (message) => queueMicrotask(() => worker.receive(message)),
        close: () => queueMicrotask(() => worker.closed()),
      };
    },
  };
}
