import { AttemptAborted, type TaskContext } from "./context.ts";
import { type HostEvents, type IsolatedHost, openProcess, openThread } from "./isolated-host.ts";
import type { AttemptFacts, FromIsolated } from "./isolation-messages.ts";
import { advised } from "./retry-errors.ts";
import type { Runtime, Timer } from "./runtime.ts";
import type { Ending } from "./work.ts";

/** Where a handler runs that must be stopped even if it does not stop by itself. */
export interface Isolation {
  /**
   * `process`: nothing that it does harms the worker, and what it starts is killed with it. `thread`: starts faster and
   * takes less memory; where it runs out of memory, or is inside of native code, the worker suffers.
   */
  in: "process" | "thread";
  /** The module that exports the handler, as `new URL("./render.ts", import.meta.url)`. */
  module: URL;
  /** Name of the export; default `default`. */
  export?: string;
}

/**
 * A handler that each attempt runs in a process or thread of its own. When the attempt is aborted, the handler's own
 * `ctx.signal` is; it is killed where it has not ended when the grace time is over, and the slot is free again.
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
  readonly #over = Promise.withResolvers<unknown>();
  readonly #host: IsolatedHost;
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
    ctx.signal.addEventListener("abort", this.#stop, { once: true });
  }

  /** Settles when nothing of it runs any more. */
  run(payload: unknown): Promise<unknown> {
    const { module, export: exportName = "default" } = this.#isolation;
    try {
      this.#host.send({ kind: "RUN", module: module.href, exportName, payload, facts: factsOf(this.#ctx) });
    } catch (error) {
      // The schema's output may be a value that cannot be sent.
      this.#over.reject(error);
      this.#host.kill();
    }
    return this.#over.promise;
  }

  #hear(message: FromIsolated): void {
    if (message.kind === "PROGRESS") return this.#ctx.progress(message.fraction, message.message);
    if (message.kind === "LOG") return this.#ctx.log(message.line);
    this.#ending ??= message.ending;
    // Timers and connections that it left open would keep it, and it may be busy with something else.
    this.#host.kill();
  }

  #abort(): void {
    const { signal, cancelGraceMs } = this.#ctx;
    const cause = signal.reason instanceof AttemptAborted ? signal.reason.reason : "CANCELLED";
    // Nobody will be here when its grace time is over.
    if (cause === "WORKER_LEAVES") return this.#host.kill();
    this.#host.send({ kind: "ABORT", cause });
    this.#killTimer = this.#runtime.setTimer(cancelGraceMs, () => {
      this.#isPastGrace = true;
      this.#host.kill();
    });
  }

  #exited(how: string): void {
    this.#killTimer?.cancel();
    this.#ctx.signal.removeEventListener("abort", this.#stop);
    if (this.#ending === null) this.#over.reject(new Error(this.#lastWords(how)));
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
  const { executionId, attempt, failures, maxAttempts, fence, scheduledAt, deadline, cancelGraceMs } = ctx;
  return { executionId, attempt, failures, maxAttempts, fence, scheduledAt, deadline, cancelGraceMs };
}

/** The error that the handler threw there, as if it were thrown here. */
function thrownBy({ error, advice }: Ending): Error {
  const { name = "Error", message = "", stack } = error ?? {};
  const thrown = Object.assign(new Error(message), { name, stack: stack ?? "" });
  return advice === null ? thrown : advised(thrown, advice);
}
