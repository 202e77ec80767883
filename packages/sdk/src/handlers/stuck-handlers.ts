import type { Runtime, Timer } from "../runtime.ts";
import type { AttemptRef } from "../session/work.ts";
import type { Attempt } from "./attempt.ts";

/** Interval of the warnings about handlers that do not end. */
const WARN_EVERY_MS = 60_000;

/**
 * Handlers that still run although their attempts are over, because they ignore `ctx.signal`. Each keeps its slot until
 * it ends. The class lists attempts whose handlers have ended since, for the server, and warns once a minute about
 * handlers that have not.
 */
export class StuckHandlers {
  readonly #runtime: Runtime;
  readonly #warn: (message: string) => void;
  readonly #sinceMs = new Map<Attempt, number>();
  #ended: AttemptRef[] = [];
  #timer: Timer | null = null;

  constructor(runtime: Runtime, warn: (message: string) => void) {
    this.#runtime = runtime;
    this.#warn = warn;
  }

  /** Adds an attempt that is over and whose handler still runs. */
  add(attempt: Attempt): void {
    this.#sinceMs.set(attempt, this.#runtime.monotonicMs());
    this.#timer ??= this.#runtime.setTimer(WARN_EVERY_MS, () => this.#tell());
  }

  /** Removes an attempt whose handler has ended. */
  end(attempt: Attempt): void {
    this.#sinceMs.delete(attempt);
    this.#ended.push(attempt.ref);
    if (this.#sinceMs.size > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Returns the attempts whose handlers have ended since the last call. */
  takeEnded(): AttemptRef[] {
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  #tell(): void {
    const nowMs = this.#runtime.monotonicMs();
    for (const [{ assignment, ref }, sinceMs] of this.#sinceMs) {
      const { executionId, attempt } = ref;
      const forSec = Math.round((nowMs - sinceMs) / 1_000);
      this.#warn(
        `handler "${assignment.handler}" still runs ${forSec} s after attempt ${attempt} of execution ${executionId} was ended: ` +
          "it ignores ctx.signal, and its slot stays occupied until it ends or this worker is restarted",
      );
    }
    this.#timer = this.#runtime.setTimer(WARN_EVERY_MS, () => this.#tell());
  }
}
