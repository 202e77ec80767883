import { deferred } from "../deferred.ts";
import { AttemptAborted, type TaskContext } from "../handlers/context.ts";
import { thrownBy } from "../handlers/outcome.ts";
import { nodeOfReport, type SpawnNode } from "../handlers/spawn.ts";
import type { Runtime, Timer } from "../runtime.ts";
import type { Ending, SpawnedNodeReport } from "../session/work.ts";
import { IsolatedCalls } from "./isolated-calls.ts";
import { type HostEvents, type IsolatedHost, openProcess, openThread } from "./isolated-host.ts";
import type { AttemptFacts, FromIsolated } from "./isolation-messages.ts";

/** Place where a handler runs that must be killed if it does not stop by itself. */
export interface Isolation {
  /**
   * `process`: the handler cannot harm the worker, and processes that the handler starts are killed with it. `thread`:
   * starts faster and takes less memory, but the worker suffers if the handler runs out of memory or hangs in native
   * code.
   */
  in: "process" | "thread";
  /** Module that exports the handler, as `new URL("./render.ts", import.meta.url)`. */
  module: URL;
  /** Name of the export; default `default`. */
  export?: string;
}

/**
 * A handler function that runs each attempt in a process or thread of its own. When the attempt is aborted, the
 * `ctx.signal` of the handler aborts. If the handler has not ended when the grace time is over, it is killed and its
 * slot is free again.
 */
export function isolatedRun(
  isolation: Isolation,
  runtime: Runtime,
): (payload: unknown, ctx: TaskContext) => Promise<unknown> {
  return (payload, ctx) => {
    ctx.signal.throwIfAborted();
    return new IsolatedAttempt(isolation, runtime, ctx).run(payload);
  };
}

class IsolatedAttempt {
  readonly #isolation: Isolation;
  readonly #runtime: Runtime;
  readonly #ctx: TaskContext;
  readonly #over = deferred<unknown>();
  readonly #host: IsolatedHost;
  readonly #calls: IsolatedCalls;
  readonly #stop = () => this.#abort();
  #ending: Ending | null = null;
  #killTimer: Timer | null = null;
  #isPastGrace = false;

  constructor(isolation: Isolation, runtime: Runtime, ctx: TaskContext) {
    this.#isolation = isolation;
    this.#runtime = runtime;
    this.#ctx = ctx;
    const events: HostEvents = { message: (message) => this.#hear(message), exited: (how) => this.#exited(how) };
    this.#host = isolation.in === "process" ? openProcess(events) : openThread(events);
    this.#calls = new IsolatedCalls(ctx, (message) => this.#host.send(message));
    ctx.signal.addEventListener("abort", this.#stop, { once: true });
  }

  /** Runs the attempt. The promise settles when the process or thread has ended. */
  run(payload: unknown): Promise<unknown> {
    const { module, export: exportName = "default" } = this.#isolation;
    const about = { facts: factsOf(this.#ctx), lastCheckpoint: this.#ctx.checkpoint.last };
    try {
      this.#host.send({ kind: "RUN", module: module.href, exportName, payload, ...about });
    } catch (error) {
      // The output of the schema may be a value that cannot be sent to another process.
      this.#over.reject(error);
      this.#host.kill();
    }
    return this.#over.promise;
  }

  #hear(message: FromIsolated): void {
    if (message.kind === "PROGRESS") return this.#ctx.progress(message.fraction, message.message);
    if (message.kind === "LOG") return this.#ctx.log(message.line);
    if (message.kind === "BRANCH") return this.#ctx.branch(message.name);
    if (message.kind === "SPAWN") return this.#spawn(message.nodes);
    if (message.kind !== "ENDED") return this.#calls.hear(message);
    this.#ending ??= message.ending;
    // The process is killed, because timers and open connections could keep it alive, and the handler may be busy with
    // something else.
    this.#host.kill();
  }

  #spawn(reports: readonly SpawnedNodeReport[]): void {
    try {
      for (const { detached = false, ...node } of reports.map(nodeOfReport))
        this.#ctx.spawn([node as SpawnNode], { detached });
    } catch (error) {
      this.#over.reject(error);
      this.#host.kill();
    }
  }

  #abort(): void {
    const { signal, cancelGraceMs } = this.#ctx;
    const cause = signal.reason instanceof AttemptAborted ? signal.reason.reason : "CANCELLED";
    // The worker leaves, so nothing could kill the handler when its grace time is over.
    if (cause === "WORKER_LEAVES") return this.#host.kill();
    this.#host.send({ kind: "ABORT", cause });
    this.#killTimer = this.#runtime.setTimer(cancelGraceMs, () => {
      this.#isPastGrace = true;
      this.#host.kill();
    });
  }

  #exited(how: string): void {
    this.#killTimer?.cancel();
    const { signal } = this.#ctx;
    signal.removeEventListener("abort", this.#stop);
    // The handler has ended as it was told to, and what it threw in its process is no failure here either.
    if (signal.reason instanceof AttemptAborted && signal.reason.reason === "SUSPENDED")
      this.#over.reject(signal.reason);
    else if (this.#ending === null) this.#over.reject(new Error(this.#lastWords(how)));
    else if (this.#ending.outcome !== "SUCCEEDED") this.#over.reject(thrownBy(this.#ending));
    else this.#over.resolve(this.#ending.result === "" ? undefined : JSON.parse(this.#ending.result));
  }

  #lastWords(how: string): string {
    const where = `the handler's ${this.#isolation.in}`;
    if (this.#isPastGrace) return `${where} was killed: it had not stopped within ${this.#ctx.cancelGraceMs} ms`;
    return `${where} ended before the handler did: ${how}`;
  }
}

function factsOf(ctx: TaskContext): AttemptFacts {
  const { executionId, attempt, failures, maxAttempts, fence, traceparent, scheduledAt, deadline, cancelGraceMs } = ctx;
  return { executionId, attempt, failures, maxAttempts, fence, traceparent, scheduledAt, deadline, cancelGraceMs };
}
