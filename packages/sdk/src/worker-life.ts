import { deferred } from "./deferred.ts";
import { MainspringError } from "./errors.ts";
import { Executor } from "./handlers/executor.ts";
import type { Middleware } from "./handlers/middleware.ts";
import { StallGuard, stallCells } from "./handlers/stall-guard.ts";
import type { StartBoard } from "./handlers/start-board.ts";
import { Hooks, type WorkerHooks } from "./handlers/worker-hooks.ts";
import type { Runtime } from "./runtime.ts";
import { checkedProfile, type WorkerProfile } from "./session/profile.ts";
import type { SessionControl, SessionEvents } from "./session/session.ts";
import type { Task } from "./task.ts";

export interface LifeOptions extends Omit<WorkerProfile, "handlers" | "policies"> {
  tasks: readonly Task<never, unknown>[];
  runtime: Runtime;
  /**
   * Length of a stall of the process after which the worker hands back waiting attempts, in milliseconds; default
   * 4_000.
   */
  stallMs?: number;
  /** Functions that the worker calls at its events; default: none. */
  hooks?: WorkerHooks;
  /** Runs around each handler; may grow until the worker starts. Default: none. */
  middleware?: readonly Middleware[];
  /** Memory shared with a session in another thread; absent: none. */
  starts?: StartBoard;
  /** Called with a message for the people who run the worker. */
  warn(message: string): void;
}

export interface StopOptions {
  /**
   * Time limit of the stop, in milliseconds; default 30_000. The worker leaves attempts behind that are not finished
   * and acknowledged by then, and aborts their `ctx.signal`.
   */
  timeoutMs?: number;
}

export type OpenSession = (
  profile: WorkerProfile,
  cells: Int32Array<SharedArrayBuffer>,
  events: SessionEvents,
) => SessionControl;

/** Pool that the tasks name; undefined: they name none. @throws {MainspringError} BAD_OPTION: they name several */
export function poolOf(tasks: readonly Pick<Task, "name" | "pool">[]): string | undefined {
  const first = tasks.find(({ pool }) => pool !== undefined);
  if (first?.pool !== undefined) checkPools(tasks, first.pool, `, as the task "${first.name}" says`);
  return first?.pool;
}

function checkPools(tasks: readonly Pick<Task, "name" | "pool">[], served: string, why = ""): void {
  const other = tasks.find(({ pool = served }) => pool !== served);
  if (other === undefined) return;
  const message = `tasks: the pool of "${other.name}" is "${other.pool}", and this worker serves "${served}"${why}: start a worker for each pool`;
  throw new MainspringError("BAD_OPTION", message);
}

/** Life of a worker, wherever its session runs: an executor, and a session that the given function opens. */
export class WorkerLife {
  /**
   * Settles when the worker has left: resolves if the worker was asked to stop, otherwise rejects with a
   * `MainspringError`.
   */
  readonly closed: Promise<void>;
  readonly #session: SessionControl;
  readonly #welcomed = deferred<void>();
  #isStarted = false;
  #markClosed: () => void;

  /** @param openSession creates the session for these events; the session is started later, and beats into the cells */
  constructor(options: LifeOptions, openSession: OpenSession) {
    const closed = deferred<void>();
    this.closed = closed.promise;
    this.#markClosed = closed.resolve;
    // A caller may ignore these promises, so their rejections must not end the process.
    for (const { promise } of [closed, this.#welcomed]) promise.catch(() => undefined);
    const { tasks, runtime, stallMs, warn, hooks: given = {}, starts, middleware, ...identity } = options;
    checkPools(tasks, identity.pool);
    const policies = tasks.flatMap((task) =>
      task.policies === undefined ? [] : { handler: task.name, policies: task.policies },
    );
    const profile = checkedProfile({ ...identity, handlers: tasks.map((task) => task.name), policies });
    const report: SessionControl["report"] = (batch) => this.#session.report(batch);
    const cells = stallCells();
    const guard = new StallGuard(cells, runtime, stallMs);
    const hooks = new Hooks(given, warn);
    const executor = new Executor({
      tasks,
      slots: profile.slots,
      runtime,
      guard,
      hooks,
      middleware,
      starts,
      report,
      warn,
    });
    this.#session = openSession(profile, cells, {
      orders: (orders) => executor.apply(orders),
      welcomed: (tooOld) => {
        executor.welcomed(tooOld);
        this.#welcomed.resolve();
      },
      late: (forMs) => hooks.stalled({ reason: "LOOP_BLOCKED", forMs }),
      warn,
      left: (error) => {
        this.#welcomed.reject(error ?? new MainspringError("UNAVAILABLE", "stopped before it was connected"));
        if (error === null) closed.resolve();
        else closed.reject(error);
      },
    });
  }

  /**
   * Connects and takes work. While no server can be reached, the worker goes on trying.
   * @returns a promise that resolves when the server has accepted the worker for the first time
   * @throws {MainspringError} WORKER_REFUSED
   */
  start(): Promise<void> {
    if (!this.#isStarted) this.#session.start();
    this.#isStarted = true;
    return this.#welcomed.promise;
  }

  /** Stops the worker: it takes no more work, hands back what has not started, finishes the rest and leaves. */
  async stop({ timeoutMs = 30_000 }: StopOptions = {}): Promise<void> {
    if (!this.#isStarted) this.#markClosed();
    else this.#session.drain(timeoutMs);
    await this.closed;
  }
}
