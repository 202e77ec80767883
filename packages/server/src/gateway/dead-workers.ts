import type { WorkerId } from "../domain/ids.ts";
import type { WorkerStatus } from "../ports/messages.ts";
import type { Runtime } from "../ports/runtime.ts";
import { DEAD_LISTED_MAX, DEAD_LISTED_MS } from "./limits.ts";

/** Workers that were lost lately, so that people can see where they went. */
export class DeadWorkers {
  readonly #runtime: Runtime;
  /** In the order in which they were lost. */
  readonly #dead = new Map<WorkerId, { status: WorkerStatus; diedAtMs: number }>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  add(status: WorkerStatus): void {
    this.#dead.delete(status.workerId);
    this.#dead.set(status.workerId, {
      status: { ...status, state: "DEAD", running: 0 },
      diedAtMs: this.#runtime.monotonicMs(),
    });
    this.#prune();
  }

  /** It is back. */
  delete(workerId: WorkerId): void {
    this.#dead.delete(workerId);
  }

  list(): WorkerStatus[] {
    this.#prune();
    return Array.from(this.#dead.values(), ({ status }) => status);
  }

  #prune(): void {
    const oldestMs = this.#runtime.monotonicMs() - DEAD_LISTED_MS;
    for (const [workerId, { diedAtMs }] of this.#dead) {
      if (diedAtMs >= oldestMs && this.#dead.size <= DEAD_LISTED_MAX) return;
      this.#dead.delete(workerId);
    }
  }
}
