import type { Task } from "@mainspring/sdk";
import { createWorkerCore, type LifeOptions, type WorkerLife, type WorkerLink } from "@mainspring/sdk/worker-core";
import type { Logger } from "pino";
import { DEFAULT_POOL } from "./domain/job.ts";
import { builtinWorkerId } from "./engine/workers/builtin-id.ts";
import type { Gateway } from "./gateway/gateway.ts";
import type { Runtime } from "./ports/runtime.ts";

/** A worker that lives in a server's process. */
export interface InnerWorkerOptions {
  tasks: readonly Task<never, unknown>[];
  /** For people; default `built-in`. */
  name?: string;
  /** Default `default`. */
  pool?: string;
  /** How many handlers run at once; 1 to 10_000, default 100. */
  slots?: number;
  /** How many more attempts may wait; 0 to 100_000, default 1_000. */
  prefetch?: number;
  /** Labels that executions may require. */
  capabilities?: readonly string[];
}

export interface InnerWorkerParts {
  gateway: Gateway;
  /** Incarnation of the server that the worker lives in. */
  incarnation: string;
  /** The how-manieth worker of that server; from 0. */
  turn: number;
  runtime: Runtime;
  log: Logger;
}

/**
 * A worker inside a server: the same session and executor as every worker's, without a socket between.
 * @throws {MainspringError} BAD_OPTION
 */
export function innerWorker(parts: InnerWorkerParts, options: InnerWorkerOptions): WorkerLife {
  const { gateway, incarnation, turn, runtime, log } = parts;
  const { name = "built-in", pool = DEFAULT_POOL, slots = 100, prefetch = 1_000, capabilities = [], tasks } = options;
  const workerId = builtinWorkerId(incarnation, turn);
  const warn = (message: string) => log.warn(message);
  const life: LifeOptions = { workerId, name, pool, slots, prefetch, capabilities, tasks, runtime, warn };
  return createWorkerCore(life, linkTo(gateway));
}

/** Neither side is called from within its own call, as over a network. */
export function linkTo(gateway: Gateway): WorkerLink {
  return {
    open: (events) => {
      const worker = gateway.connect({
        isInner: true,
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
