import { hostname } from "node:os";
import { type ApiKeyOption, apiKeySource } from "./client/api-key.ts";
import { MainspringError } from "./errors.ts";
import { FailureLog } from "./handlers/failure-log.ts";
import type { Middleware } from "./handlers/middleware.ts";
import { StartBoard } from "./handlers/start-board.ts";
import type { WorkerHooks } from "./handlers/worker-hooks.ts";
import { printable } from "./printable.ts";
import { authoritiesOfEnvironment, targetsOf } from "./session/grpc-target.ts";
import { newIdentity } from "./session/profile.ts";
import { ThreadSession } from "./session/thread-session.ts";
import { type CertificateFiles, workerCertificate } from "./session/worker-certificate.ts";
import { systemRuntime } from "./system-runtime.ts";
import type { Task } from "./task.ts";
import { poolOf, type StopOptions, WorkerLife } from "./worker-life.ts";

export interface WorkerOptions extends WorkerHooks {
  tasks: readonly Task<never, unknown>[];
  /**
   * gRPC address of the server, host:port (https://host:port with TLS). For a cluster: several, as a list or with
   * commas between them; when the connection to one gateway breaks, the worker connects to another. Default: the
   * environment variable MAINSPRING_GRPC_URL, or 127.0.0.1:8081.
   */
  url?: string | readonly string[];
  /**
   * API key, or a function that tells it. Default: the content of the file that the environment variable MAINSPRING_API_KEY_FILE
   * names, or MAINSPRING_API_KEY. A key from a function or a file is read again when a server refuses it.
   */
  apiKey?: ApiKeyOption;
  /**
   * Authorities in PEM that the certificates of https addresses come from. Default: those in the file that the
   * environment variable MAINSPRING_TLS_CA names, or those of the system.
   */
  ca?: string;
  /**
   * Files in PEM of the certificate that the worker shows to https addresses, and of its private key, for an API key that requires
   * one. The worker reads them at each connection. Default: the files that the environment variables MAINSPRING_WORKER_TLS_CERT and
   * MAINSPRING_WORKER_TLS_KEY name, or none.
   */
  certificate?: CertificateFiles;
  /** Pool that the worker serves; default: the one that its tasks name, else `default`. */
  pool?: string;
  /** Number of handlers that run at once; 1 to 10_000, default 20. */
  slots?: number;
  /**
   * Number of further attempts that may wait at the worker; 0 to 100_000, default `auto`: as many as the worker ends in
   * about 50 ms, and none where a handler takes longer than that.
   */
  prefetch?: number | "auto";
  /** Labels that executions may require, as `gpu` or `region=eu`. */
  capabilities?: readonly string[];
  /** Name of the worker, for people; default: host name and process id. */
  name?: string;
  /**
   * Called with messages for people, such as a lost connection or failed attempts (20 a minute at most). Default:
   * writes to standard error.
   */
  warn?(message: string): void;
}

/**
 * Runs tasks for a server. Connection and heartbeats live in a thread of their own, so that the server sees a handler
 * that blocks the event loop as slow and not as dead. The worker handles no signals, unless `run()` is used.
 */
export class Worker {
  /**
   * Settles when the worker has left: resolves if the worker was asked to stop, otherwise rejects with a
   * `MainspringError`.
   */
  readonly closed: Promise<void>;
  readonly #life: WorkerLife;
  readonly #middleware: Middleware[] = [];
  #isStarted = false;

  /** @throws {MainspringError} BAD_OPTION */
  constructor(options: WorkerOptions) {
    const { tasks, capabilities = [], pool = poolOf(tasks) ?? "default", slots = 20 } = options;
    const name = options.name ?? `${hostname()}-${process.pid}`.slice(0, 128);
    const targets = targetsOf(options.url ?? process.env.MAINSPRING_GRPC_URL ?? "127.0.0.1:8081");
    const apiKey = apiKeySource(options.apiKey);
    const ca = options.ca ?? authoritiesOfEnvironment();
    const certificate = workerCertificate(options.certificate);
    const warn = options.warn ?? ((message) => console.error(printable(`mainspring worker ${name}: ${message}`)));
    const runtime = systemRuntime(false);
    const { prefetch = "auto" } = options;
    const identity = { ...newIdentity(runtime), name, pool, capabilities, slots, prefetch };
    const hooks = hooksOf(options, new FailureLog(runtime, warn));
    // The profile checks `slots` later, so a value that is no number must not fail here.
    const starts = StartBoard.of(Math.min(Math.max(slots, 1), 10_000) || 1);
    this.#life = new WorkerLife(
      { ...identity, tasks, runtime, hooks, middleware: this.#middleware, starts, warn },
      (profile, cells, events) => {
        return new ThreadSession({ profile, targets, ca, certificate, apiKey, cells, starts: starts.memory }, events);
      },
    );
    this.closed = this.#life.closed;
  }

  /**
   * Runs a function around each handler, as for traces or transactions: `async (ctx, next) => { …; await next(); … }`. The one that is
   * added first is outermost.
   * @throws {MainspringError} BAD_OPTION: the worker has started
   */
  use(middleware: Middleware): this {
    if (this.#isStarted) throw new MainspringError("BAD_OPTION", "use: add middleware before the worker starts");
    this.#middleware.push(middleware);
    return this;
  }

  /**
   * Connects and takes work. While no server can be reached, the worker goes on trying.
   * @returns a promise that resolves when the server has accepted the worker for the first time
   * @throws {MainspringError} WORKER_REFUSED
   */
  start(): Promise<void> {
    this.#isStarted = true;
    return this.#life.start();
  }

  /** Stops the worker: it takes no more work, hands back what has not started, finishes the rest and leaves. */
  stop(options?: StopOptions): Promise<void> {
    return this.#life.stop(options);
  }

  /**
   * Starts the worker, and stops it on SIGTERM or SIGINT; a second signal ends the process at once. @returns a promise
   * that resolves when the worker has left
   */
  async run(options?: StopOptions): Promise<void> {
    let isStopping = false;
    const onSignal = () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      void this.stop(options).catch(() => undefined);
    };
    process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
    try {
      // A stop before the first welcome also rejects `start`; `closed` below says how the worker left.
      await this.start().catch(() => undefined);
      await this.closed;
    } finally {
      process.off("SIGTERM", onSignal).off("SIGINT", onSignal);
    }
  }
}

/** Hooks that write the log of failures and then call the given hooks. */
function hooksOf(given: WorkerHooks, log: FailureLog): WorkerHooks {
  const { onStart, onSuccess, onFailure, onSuspend, onStalled } = given;
  const logged: WorkerHooks["onFailure"] = (failed) => {
    log.add(failed);
    return onFailure?.call(given, failed);
  };
  return {
    ...(onStart && { onStart: onStart.bind(given) }),
    ...(onSuccess && { onSuccess: onSuccess.bind(given) }),
    onFailure: logged,
    ...(onSuspend && { onSuspend: onSuspend.bind(given) }),
    ...(onStalled && { onStalled: onStalled.bind(given) }),
  };
}
