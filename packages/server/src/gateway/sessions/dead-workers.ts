import type { WorkerId } from "../../domain/ids.ts";
import type { WorkerStatus } from "../../ports/messages.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { DEAD_LISTED_MAX, DEAD_LISTED_MS } from "../limits.ts";

interface DeadWorker {
  status: WorkerStatus;
  /** Number of the last connection that the worker had here. */
  connection: number;
  reason: string;
  /** Whether the worker said goodbye before it ended. Such a worker is not listed as DEAD. */
  hasLeft: boolean;
  diedAtMs: number;
}

/**
 * Workers that have gone recently. The API lists those that were lost, and owners that missed the report of a loss get
 * it again.
 */
export class DeadWorkers {
  readonly #runtime: Runtime;
  /** Workers by id, in the order in which they went. */
  readonly #dead = new Map<WorkerId, DeadWorker>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  add(status: WorkerStatus, dead: Pick<DeadWorker, "connection" | "reason" | "hasLeft">): void {
    this.#dead.delete(status.workerId);
    this.#dead.set(status.workerId, {
      ...dead,
      status: { ...status, state: "DEAD", running: 0, free: 0, stuck: 0 },
      diedAtMs: this.#runtime.monotonicMs(),
    });
    this.#prune();
  }

  /** Removes a worker that is back. */
  delete(workerId: WorkerId): void {
    this.#dead.delete(workerId);
  }

  get(workerId: WorkerId): Readonly<DeadWorker> | undefined {
    this.#prune();
    return this.#dead.get(workerId);
  }

  ids(): WorkerId[] {
    this.#prune();
    return [...this.#dead.keys()];
  }

  /** Lists workers that were lost. */
  list(): WorkerStatus[] {
    this.#prune();
    return [...this.#dead.values()].filter(({ hasLeft }) => !hasLeft).map(({ status }) => status);
  }

  #prune(): void {
    const oldestMs = this.#runtime.monotonicMs() - DEAD_LISTED_MS;
    for (const [workerId, { diedAtMs }] of this.#dead) {
      if (diedAtMs >= oldestMs && this.#dead.size <= DEAD_LISTED_MAX) return;
      this.#dead.delete(workerId);
    }
  }
}
