import { MainspringError } from "./errors.ts";
import { Executor } from "./executor.ts";
import { checkedProfile, type WorkerProfile } from "./profile.ts";
import type { Runtime } from "./runtime.ts";
import type { SessionControl, SessionEvents } from "./session.ts";
import { StallGuard, stallCells } from "./stall-guard.ts";
import type { StartBoard } from "./start-board.ts";
import type { Task } from "./task.ts";
import { Hooks, type WorkerHooks } from "./worker-hooks.ts";

export interface LifeOptions extends Omit<WorkerProfile, "handlers"> {
  tasks: readonly Task<never, unknown>[];
  runtime: Runtime;
  /** How long the process may stand still before the worker hands back what waits, in milliseconds; default 4_000. */
  stallMs?: number;
  /** Default: none. */
  hooks?: WorkerHooks;
  /** Shared with a session in another thread; left out: none. */
  starts?: StartBoard;
  /** Something that people should see. */
  warn(message: string): void;
}

export interface StopOptions {
  /**
   * Attempts that are not finished and acknowledged by then are left behind, and their `ctx.signal` aborts; default
   * 30_000.
   */
  timeoutMs?: number;
}

export type OpenSession = (
  profile: WorkerProfile,
  cells: Int32Array<SharedArrayBuffer>,
  events: SessionEvents,
) => SessionControl;

/** A worker's life, wherever its session runs: an executor here, and a session that it is told how to open. */
export class WorkerLife {
  /** Settles when the worker has left: fulfilled where it was asked to, else rejected with a `MainspringError`. */
  readonly closed: Promise<void>;
  readonly #session: SessionControl;
  readonly #welcomed = Promise.withResolvers<void>();
  #isStarted = false;
  #markClosed: () => void;

  /** @param openSession gives the session that the events belong to; it is started later, and beats into the cells */
  constructor(options: LifeOptions, openSession: OpenSession) {
    const closed = Promise.withResolvers<void>();
    this.closed = closed.promise;
    this.#markClosed = closed.resolve;
    // A caller that ignores these promises must not end by their rejection.
    for (const { promise } of [closed, this.#welcomed]) promise.catch(() => undefined);
    const { tasks, runtime, stallMs, warn, hooks: given = {}, starts, ...identity } = options;
    const profile = checkedProfile({ ...identity, handlers: tasks.map((task) => task.name) });
    const report: SessionControl["report"] = (batch) => this.#session.report(batch);
    const cells = stallCells();
    const guard = new StallGuard(cells, runtime, stallMs);
    const hooks = new Hooks(given, warn);
    const executor = new Executor({ tasks, slots: profile.slots, runtime, guard, hooks, starts, report, warn });
    this.#session = openSession(profile, cells, {
      orders: (orders) => executor.obey(orders),
      welcomed: () => this.#welcomed.resolve(),
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
   * Connects and takes work. While the server cannot be reached it goes on trying.
   * @returns when the server has taken the worker for the first time
   * @throws {MainspringError} WORKER_REFUSED
   */
  start(): Promise<void> {
    if (!this.#isStarted) this.#session.start();
    this.#isStarted = true;
    return this.#welcomed.promise;
  }

  /** Takes no more work, hands back what has not started, finishes the rest and leaves. */
  async stop({ timeoutMs = 30_000 }: StopOptions = {}): Promise<void> {
    if (!this.#isStarted) this.#markClosed();
    else this.#session.drain(timeoutMs);
    await this.closed;
  }
}
