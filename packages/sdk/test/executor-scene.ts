import assert from "node:assert/strict";
import type { TaskContext } from "../src/handlers/context.ts";
import { Executor } from "../src/handlers/executor.ts";
import type { Middleware } from "../src/handlers/middleware.ts";
import { StallGuard, stallCells } from "../src/handlers/stall-guard.ts";
import { Hooks, type WorkerHooks } from "../src/handlers/worker-hooks.ts";
import { type Assignment, type FinishedReport, NO_ORDERS, type Orders, type Report } from "../src/session/work.ts";
import { type Task, task } from "../src/task.ts";
import { ManualRuntime } from "./manual-runtime.ts";

/** A handler that is under way, until the test ends it. */
interface Running {
  ctx: TaskContext;
  payload: unknown;
  return(value?: unknown): void;
  throw(error: unknown): void;
}

/** An executor whose handler `manual` does what the test says, with the test as its session. */
export class ExecutorScene {
  readonly runtime = new ManualRuntime();
  readonly reports: Report[] = [];
  readonly warnings: string[] = [];
  /** As the session's thread has it; tests beat it. */
  readonly guard: StallGuard;
  /** Executions whose handler was called, in that order. */
  readonly called: string[] = [];
  readonly executor: Executor;
  readonly #running = new Map<string, Running>();

  constructor(
    slots: number,
    tasks: readonly Task<never, unknown>[] = [],
    hooks: WorkerHooks = {},
    middleware: readonly Middleware[] = [],
  ) {
    const manual = task({ name: "manual", run: (payload: unknown, ctx) => this.#run(payload, ctx) });
    const cells = stallCells();
    this.guard = new StallGuard(cells, this.runtime);
    this.executor = new Executor({
      tasks: [manual, ...tasks],
      slots,
      runtime: this.runtime,
      guard: new StallGuard(cells, this.runtime),
      middleware,
      hooks: new Hooks(hooks, (message) => this.warnings.push(message)),
      report: (report) => this.reports.push(report),
      warn: (message) => this.warnings.push(message),
    });
  }

  apply(orders: Partial<Orders>): void {
    this.executor.apply({ ...NO_ORDERS, ...orders });
  }

  assign(...executionIds: string[]): void {
    this.apply({ assigns: executionIds.map((id) => assignment(id)) });
  }

  running(executionId: string, attempt = 1): Running {
    const found = this.#running.get(`${executionId}:${attempt}`);
    if (found === undefined) throw new Error(`${executionId}:${attempt} does not run`);
    return found;
  }

  /** All that was reported as finished, once this turn is done. */
  async finished(): Promise<FinishedReport[]> {
    await this.runtime.turn();
    return this.reports.flatMap((report) => report.finished);
  }

  /** As `execution outcome`. */
  async outcomes(): Promise<string[]> {
    return (await this.finished()).map(({ executionId, outcome }) => `${executionId} ${outcome}`);
  }

  #run(payload: unknown, ctx: TaskContext): Promise<unknown> {
    this.called.push(ctx.executionId);
    return new Promise((resolve, reject) => {
      this.#running.set(ctx.fence, { ctx, payload, return: resolve, throw: reject });
    });
  }
}

/** Members of a context whose handler uses no steps. */
export const NO_STEPS: Pick<TaskContext, "step" | "checkpoint"> = {
  step: {
    run: () => assert.fail("no step"),
    sleep: () => assert.fail("no step"),
    sleepUntil: () => assert.fail("no step"),
    waitForSignal: () => assert.fail("no step"),
    key: () => assert.fail("no step"),
  },
  checkpoint: Object.assign(() => assert.fail("no checkpoint"), { last: undefined }),
};

export function assignment(executionId: string, over: Partial<Assignment> = {}): Assignment {
  return {
    executionId,
    attempt: 1,
    handler: "manual",
    payload: "",
    timeoutMs: 60_000,
    cancelGraceMs: 10_000,
    failures: 0,
    maxAttempts: 5,
    scheduledAtMs: 900_000,
    ...over,
  };
}

export function ref(executionId: string, attempt = 1): { executionId: string; attempt: number } {
  return { executionId, attempt };
}
