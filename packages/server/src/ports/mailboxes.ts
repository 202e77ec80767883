import type { Incarnation } from "../domain/ids.ts";
import { invariant } from "../domain/invariant.ts";
import type { Bus, Envelope, Mail, Role } from "./bus.ts";
import { OwnerMap } from "./owner-map.ts";

type Listener = (messages: readonly Envelope<never>[]) => void;

/** What has come for the roles of one node, from itself or from others. Delivers in order, once, unless nobody listens. */
export class Mailboxes {
  readonly #owners = new OwnerMap();
  readonly #boxes: Record<Role, Mailbox> = { api: new Mailbox(), scheduler: new Mailbox(), gateway: new Mailbox() };

  ownerOf: Bus["ownerOf"] = (shard) => this.#owners.ownerOf(shard);

  listen: Bus["listen"] = (role, receive) => this.#boxes[role].open(receive as unknown as Listener);

  hasListener(role: Role): boolean {
    return this.#boxes[role].listener !== null;
  }

  /** Delivers after the caller's turn, with all that came in it. */
  put<R extends Role>(from: Incarnation, role: R, message: Mail[R]): void {
    if (role === "api") this.#owners.hear({ from, message: message as Mail["api"] });
    this.#boxes[role].put({ from, message: message as never });
  }
}

class Mailbox {
  listener: Listener | null = null;
  #waiting: Envelope<never>[] = [];

  open(listener: Listener): () => void {
    invariant(this.listener === null, "a role has one listener");
    this.listener = listener;
    return () => {
      this.listener = null;
    };
  }

  put(envelope: Envelope<never>): void {
    this.#waiting.push(envelope);
    if (this.#waiting.length === 1) queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    const messages = this.#waiting;
    this.#waiting = [];
    this.listener?.(messages);
  }
}
