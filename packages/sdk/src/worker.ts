import { hostname } from "node:os";
import { FailureLog } from "./failure-log.ts";
import { targetsOf } from "./grpc-target.ts";
import { apiKeyOf } from "./headers.ts";
import { printable } from "./printable.ts";
import { newIdentity } from "./profile.ts";
import { StartBoard } from "./start-board.ts";
import { systemRuntime } from "./system-runtime.ts";
import type { Task } from "./task.ts";
import { ThreadSession } from "./thread-session.ts";
import type { WorkerHooks } from "./worker-hooks.ts";
import { type StopOptions, WorkerLife } from "./worker-life.ts";

export interface WorkerOptions extends WorkerHooks {
  tasks: readonly Task<never, unknown>[];
  /**
   * The server's gRPC address, host:port (https://host:port with TLS); of a cluster several, as a list or with commas
   * between them: when the connection to one breaks, the worker carries on at another. Default: the environment's
   * MAINSPRING_GRPC_URL, else 127.0.0.1:8081.
   */
  url?: string | readonly string[];
  /** Default: the environment's MAINSPRING_API_KEY. */
  apiKey?: string;
  /** Default `default`. */
  pool?: string;
  /** How many handlers run at once; 1 to 10_000, default 20. */
  slots?: number;
  /** How many more attempts may wait here; 0 to 100_000, default 0. Worth it where jobs are short. */
  prefetch?: number;
  /** Labels that executions may require, as `gpu` or `region=eu`. */
  capabilities?: readonly string[];
  /** For people; default: host name and process id. */
  name?: string;
  /** Hears what people should see: a lost connection, failed attempts (20 a minute at most). Default: standard error. */
  warn?(message: string): void;
}

/**
 * Runs tasks for a server. Its connection and heartbeats live in a thread of their own, so that a handler that blocks
 * the loop is seen as slow and not as dead. Takes no signals, unless `run()` is used.
 */
export class Worker {
  /** Settles when the worker has left: fulfilled where it was asked to, else rejected with a `MainspringError`. */
  readonly closed: Promise<void>;
  readonly #life: WorkerLife;

  /** @throws {MainspringError} BAD_OPTION */
  constructor(options: WorkerOptions) {
    const { tasks, capabilities = [], pool = "default", slots = 20, prefetch = 0 } = options;
    const name = options.name ?? `${hostname()}-${process.pid}`.slice(0, 128);
    const targets = targetsOf(options.url ?? process.env.MAINSPRING_GRPC_URL ?? "127.0.0.1:8081");
    const apiKey = apiKeyOf(options.apiKey);
    const warn = options.warn ?? ((message) => console.error(printable(`mainspring worker ${name}: ${message}`)));
    const runtime = systemRuntime(false);
    const identity = { ...newIdentity(runtime), name, pool, capabilities, slots, prefetch };
    const hooks = hooksOf(options, new FailureLog(runtime, warn));
    // Slots are checked by the profile; a number that is none must not fail here.
    const starts = StartBoard.of(Math.min(Math.max(slots, 1), 10_000) || 1);
    this.#life = new WorkerLife({ ...identity, tasks, runtime, hooks, starts, warn }, (profile, cells, events) => {
      return new ThreadSession({ profile, targets, apiKey, cells, starts: starts.memory }, events);
    });
    this.closed = this.#life.closed;
  }

  /**
   * Connects and takes work. While the server cannot be reached it goes on trying.
   * @returns when the server has taken the worker for the first time
   * @throws {MainspringError} WORKER_REFUSED
   */
  start(): Promise<void> {
    return this.#life.start();
  }

  /** Takes no more work, hands back what has not started, finishes the rest and leaves. */
  stop(options?: StopOptions): Promise<void> {
    return this.#life.stop(options);
  }

  /** Starts, and stops on SIGTERM or SIGINT; a second signal ends the process at once. @returns when it has left */
  async run(options?: StopOptions): Promise<void> {
    let isStopping = false;
    const onSignal = () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      void this.stop(options).catch(() => undefined);
    };
    process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
    try {
      // A stop before the first welcome ends the start too; what counts is how the worker left.
      await this.start().catch(() => undefined);
      await this.closed;
    } finally {
      process.off("SIGTERM", onSignal).off("SIGINT", onSignal);
    }
  }
}

/** The given hooks, each preceded by the log of failures. */
function hooksOf(given: WorkerHooks, log: FailureLog): WorkerHooks {
  const { onStart, onSuccess, onFailure, onStalled } = given;
  const logged: WorkerHooks["onFailure"] = (failed) => {
    log.add(failed);
    return onFailure?.call(given, failed);
  };
  return {
    ...(onStart && { onStart: onStart.bind(given) }),
    ...(onSuccess && { onSuccess: onSuccess.bind(given) }),
    onFailure: logged,
    ...(onStalled && { onStalled: onStalled.bind(given) }),
  };
}
