import type { SimEvent } from "../history.ts";

/**
 * Time after the last fault until everything works normally, in milliseconds: restarts, takeovers, and the waits in
 * them.
 */
const SETTLED_AFTER_MS = 75_000;

/** Records since when no fault has been active, for checkers that judge durations. */
export class Quiet {
  readonly name = "the quiet";
  #lastMs = 0;
  #lastButForBlocksMs = 0;

  /** Time since which no fault has been active, in milliseconds; in the future while one is. */
  get sinceMs(): number {
    return this.#lastMs + SETTLED_AFTER_MS;
  }

  /** The same for checkers that ignore handlers that block their worker's event loop. */
  get butForBlocksSinceMs(): number {
    return this.#lastButForBlocksMs + SETTLED_AFTER_MS;
  }

  noticed(event: SimEvent): void {
    // Nothing starts while the pool is paused.
    if (event.kind === "OPERATED" && event.forMs > 0) this.#until(event.atMs + event.forMs);
    if (event.kind === "FAULT") this.#until(event.atMs + (event.forMs ?? 0), event.fault === "LOOP_BLOCKED");
    else if (event.kind === "INDEX_LOST") this.#until(event.atMs);
    else if (event.kind === "STORE_FAULT" || event.kind === "NETWORK_FAULT" || event.kind === "PARTED")
      this.#until(event.atMs);
  }

  #until(ms: number, isBlock = false): void {
    this.#lastMs = Math.max(this.#lastMs, ms);
    if (!isBlock) this.#lastButForBlocksMs = Math.max(this.#lastButForBlocksMs, ms);
  }
}
