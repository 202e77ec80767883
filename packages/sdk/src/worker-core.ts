import type { Runtime } from "./runtime.ts";
import { Session, type SessionEvents } from "./session.ts";
import { StallGuard } from "./stall-guard.ts";
import { type LifeOptions, WorkerLife } from "./worker-life.ts";
import type { WorkerLink } from "./worker-link.ts";

/** Where a session is when it is not in the loop of its handlers. */
export interface SessionThread {
  runtime: Runtime;
  /** Brings what the session says to the loop of the handlers, in order, when that loop is free. */
  deliver(run: () => void): void;
}

/**
 * A worker without thread or socket, for a server's built-in worker and for simulations: the same session and executor
 * as every worker's, over any link. It reports no loop lag: whoever it shares the loop with knows that better.
 * @param thread left out: the session shares the loop of the handlers
 */
export function createWorkerCore(options: LifeOptions, link: WorkerLink, thread?: SessionThread): WorkerLife {
  return new WorkerLife(options, (profile, cells, events) => {
    const runtime = thread?.runtime ?? options.runtime;
    const guard = new StallGuard(cells, runtime, options.stallMs);
    return new Session(profile, link, runtime, guard, thread === undefined ? events : deliveredBy(thread, events));
  });
}

function deliveredBy({ deliver }: SessionThread, events: SessionEvents): SessionEvents {
  return {
    orders: (orders) => deliver(() => events.orders(orders)),
    welcomed: () => deliver(() => events.welcomed()),
    left: (error) => deliver(() => events.left(error)),
    warn: (message) => deliver(() => events.warn(message)),
  };
}

export type { TaskContext } from "./context.ts";
export type { Runtime, Timer } from "./runtime.ts";
export { type Task, task } from "./task.ts";
export type { LifeOptions, StopOptions, WorkerLife } from "./worker-life.ts";
export type { ClosedReason, LinkConnection, LinkEvents, WorkerLink } from "./worker-link.ts";
