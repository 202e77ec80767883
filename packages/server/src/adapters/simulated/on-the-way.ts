import type { Incarnation } from "../../domain/ids.ts";

/** A commit or a takeover that was sent and has not taken effect. */
interface Underway {
  /** Keeps the call from taking effect. */
  shutOut(): void;
}

/**
 * Commits and takeovers that each node has sent and that have not taken effect. Their outcome is unknown, even after
 * the node has given up. A takeover ends them, as PostgreSQL does by terminating a node's backends.
 */
export class OnTheWay {
  readonly #byOwner = new Map<Incarnation, Set<Underway>>();

  add(owner: Incarnation, call: Underway): void {
    const known = this.#byOwner.get(owner);
    if (known === undefined) this.#byOwner.set(owner, new Set([call]));
    else known.add(call);
  }

  /** Removes a call that has taken effect. */
  remove(owner: Incarnation, call: Underway): void {
    const calls = this.#byOwner.get(owner);
    calls?.delete(call);
    if (calls?.size === 0) this.#byOwner.delete(owner);
  }

  /** Shuts out the calls of all nodes, also those that their callers have given up: the store that they went to is gone. */
  shutOutAll(): void {
    for (const owner of [...this.#byOwner.keys()]) this.shutOut(owner);
  }

  /** @returns number of calls that were shut out */
  shutOut(owner: Incarnation): number {
    const calls = this.#byOwner.get(owner);
    if (calls === undefined) return 0;
    this.#byOwner.delete(owner);
    for (const call of calls) call.shutOut();
    return calls.size;
  }
}
