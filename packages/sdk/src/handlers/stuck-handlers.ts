import type { Attempt } from "./attempt.ts";
import type { Runtime, Timer } from "./runtime.ts";
import type { AttemptRef } from "./work.ts";

/** Interval of the warnings about handlers that do not end. */
const WARN_EVERY_MS = 60_000;

/**
 * Handlers that still run although their attempts are over: they ignore `ctx.signal`, and each keeps its slot until it ends.
 * Names the attempts whose handlers have ended since, for the server, and warns once a minute of those that have not.
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

  /** The attempt is over and its handler still runs. */
  add(attempt: Attempt): void {
    this.#sinceMs.set(attempt, this.#runtime.monotonicMs());
    this.#timer ??= this.#runtime.setTimer(WARN_EVERY_MS, () => this.#tell());
  }

  /** The attempt is over and keeps no slot (any more). */
  end(attempt: Attempt): void {
    this.#sinceMs.delete(attempt);
    this.#ended.push(attempt.ref);
    if (this.#sinceMs.size > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Attempts that have ended since the last call. */
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
