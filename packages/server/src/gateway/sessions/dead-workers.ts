import type { WorkerId } from "../../domain/ids.ts";
import type { WorkerStatus } from "../../ports/messages.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { DEAD_LISTED_MAX, DEAD_LISTED_MS } from "../limits.ts";

interface DeadWorker {
  status: WorkerStatus;
  /** The last one that it had here. */
  connection: number;
  reason: string;
  /** It ended as it should, so people need not see it. */
  hasLeft: boolean;
  diedAtMs: number;
}

/** Workers that are gone since lately: people can see where they went, and owners that missed it are told again. */
export class DeadWorkers {
  readonly #runtime: Runtime;
  /** In the order in which they went. */
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

  /** It is back. */
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

  /** Workers that were lost. */
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
