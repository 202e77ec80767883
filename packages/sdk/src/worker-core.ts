import { StallGuard } from "./handlers/stall-guard.ts";
import type { Runtime } from "./runtime.ts";
import { Session, type SessionEvents } from "./session/session.ts";
import type { WorkerLink } from "./session/worker-link.ts";
import { type LifeOptions, WorkerLife } from "./worker-life.ts";

export { authoritiesOfEnvironment } from "./session/grpc-target.ts";

/** Thread of a session that does not share the event loop of its handlers. */
export interface SessionThread {
  runtime: Runtime;
  /** Calls `run` in the event loop of the handlers when that loop is free, in the order of the calls. */
  deliver(run: () => void): void;
}

/**
 * Creates a worker without thread or socket, for a server's built-in worker and for simulations: the same session and
 * executor as in every worker, over any link. It reports no loop lag, because the process that shares the event loop
 * measures the lag itself.
 * @param thread thread of the session; absent: the session shares the event loop of the handlers
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
    welcomed: (tooOld) => deliver(() => events.welcomed(tooOld)),
    left: (error) => deliver(() => events.left(error)),
    warn: (message) => deliver(() => events.warn(message)),
  };
}

export type { TaskContext } from "./handlers/context.ts";
export type { Runtime, Timer } from "./runtime.ts";
export type { ClosedReason, LinkConnection, LinkEvents, WorkerLink } from "./session/worker-link.ts";
export { watchHolds } from "./steps/attempt-steps.ts";
export { type Task, task } from "./task.ts";
export type { LifeOptions, StopOptions, WorkerLife } from "./worker-life.ts";
