import type { Task } from "@mainspring/sdk";
import { createWorkerCore, type LifeOptions, type WorkerLife, type WorkerLink } from "@mainspring/sdk/worker-core";
import type { Logger } from "pino";
import { DEFAULT_POOL } from "./domain/job.ts";
import { builtinWorkerId } from "./engine/workers/builtin-id.ts";
import type { Gateway } from "./gateway/gateway.ts";
import type { Runtime } from "./ports/runtime.ts";

/** Options of a worker that runs in a server's process. */
export interface InnerWorkerOptions {
  tasks: readonly Task<never, unknown>[];
  /** Name for display; default `built-in`. */
  name?: string;
  /** Pool of the worker; default `default`. */
  pool?: string;
  /** Number of handlers that run at once; 1 to 10_000, default 100. */
  slots?: number;
  /** Number of further attempts that may wait; 0 to 100_000, default `auto`: about 50 ms of work, if it is quick. */
  prefetch?: number | "auto";
  /** Capabilities that executions may require. */
  capabilities?: readonly string[];
}

export interface InnerWorkerDependencies {
  gateway: Gateway;
  /** Incarnation of the server that the worker runs in. */
  incarnation: string;
  /** Number of the worker within its server, from 0. */
  turn: number;
  runtime: Runtime;
  log: Logger;
}

/**
 * Creates a worker inside a server. It uses the same session and executor as other workers, without a socket in
 * between.
 * @throws {MainspringError} BAD_OPTION
 */
export function innerWorker(deps: InnerWorkerDependencies, options: InnerWorkerOptions): WorkerLife {
  const { gateway, incarnation, turn, runtime, log } = deps;
  const { name = "built-in", pool = DEFAULT_POOL, slots = 100, prefetch = "auto", capabilities = [], tasks } = options;
  const workerId = builtinWorkerId(incarnation, turn);
  const warn = (message: string) => log.warn(message);
  const life: LifeOptions = { workerId, name, pool, slots, prefetch, capabilities, tasks, runtime, warn };
  return createWorkerCore(life, linkTo(gateway));
}

/**
 * Links a worker to a gateway in the same process. As over a network, neither side is called back during its own call.
 */
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
