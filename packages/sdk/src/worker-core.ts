import { Session } from "./session.ts";
import { type LifeOptions, WorkerLife } from "./worker-life.ts";
import type { WorkerLink } from "./worker-link.ts";

/**
 * A worker without thread or socket, for a server's built-in worker and for simulations: the same session and executor
 * as every worker's, over any link. It reports no loop lag: whoever it shares the loop with knows that better.
 */
export function createWorkerCore(options: LifeOptions, link: WorkerLink): WorkerLife {
  return new WorkerLife(options, (profile, events) => new Session(profile, link, options.runtime, events));
}

export type { TaskContext } from "./context.ts";
export type { Runtime, Timer } from "./runtime.ts";
export { type Task, task } from "./task.ts";
export type { LifeOptions, StopOptions, WorkerLife } from "./worker-life.ts";
export type { ClosedReason, LinkConnection, LinkEvents, WorkerLink } from "./worker-link.ts";
