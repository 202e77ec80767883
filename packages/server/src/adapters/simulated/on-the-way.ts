import type { Incarnation } from "@mainspring/server/testing";

/** A commit or a takeover that was sent and has not taken effect. */
interface Underway {
  /** It is not to take effect any more. */
  shutOut(): void;
}

/**
 * The commits and takeovers that each node has sent and that have not taken effect: what they will do is in doubt, also
 * after the node has given up waiting for them. A takeover ends them, as ending the backends of a node does in PostgreSQL.
 */
export class OnTheWay {
  readonly #byOwner = new Map<Incarnation, Set<Underway>>();

  add(owner: Incarnation, call: Underway): void {
    const known = this.#byOwner.get(owner);
    if (known === undefined) this.#byOwner.set(owner, new Set([call]));
    else known.add(call);
  }

  /** It has taken effect. */
  remove(owner: Incarnation, call: Underway): void {
    const calls = this.#byOwner.get(owner);
    calls?.delete(call);
    if (calls?.size === 0) this.#byOwner.delete(owner);
  }

  /** @returns how many calls were shut out */
  shutOut(owner: Incarnation): number {
    const calls = this.#byOwner.get(owner);
    if (calls === undefined) return 0;
    this.#byOwner.delete(owner);
    for (const call of calls) call.shutOut();
    return calls.size;
  }
}
