import type { Moment } from "../history.ts";

/** How long after the last fault everything is as it should be: restarts, takeovers, and what is waited for in them. */
const SETTLED_AFTER_MS = 75_000;

/** Since when nothing has been done to anybody, kept for those who judge how long something takes. */
export class Quiet {
  readonly name = "the quiet";
  #lastMs = 0;
  #lastButForBlocksMs = 0;

  /** In the future as long as it is not quiet. */
  get sinceMs(): number {
    return this.#lastMs + SETTLED_AFTER_MS;
  }

  /** The same where it does not matter whether a handler blocks its worker's loop. */
  get butForBlocksSinceMs(): number {
    return this.#lastButForBlocksMs + SETTLED_AFTER_MS;
  }

  noticed(moment: Moment): void {
    // While the pool is paused nothing starts.
    if (moment.kind === "OPERATED" && moment.forMs > 0) this.#until(moment.atMs + moment.forMs);
    if (moment.kind === "FAULT") this.#until(moment.atMs + (moment.forMs ?? 0), moment.fault === "LOOP_BLOCKED");
    else if (moment.kind === "STORE_FAULT" || moment.kind === "NETWORK_FAULT" || moment.kind === "PARTED")
      this.#until(moment.atMs);
  }

  #until(ms: number, isBlock = false): void {
    this.#lastMs = Math.max(this.#lastMs, ms);
    if (!isBlock) this.#lastButForBlocksMs = Math.max(this.#lastButForBlocksMs, ms);
  }
}
