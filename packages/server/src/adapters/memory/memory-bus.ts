import type { Incarnation } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import type { Bus, Envelope, Mail, Role } from "../../ports/bus.ts";
import { OwnerMap } from "../../ports/owner-map.ts";

type Listener = (messages: readonly Envelope<never>[]) => void;

/** The bus of a server that is alone: its roles talk within one process. Delivers in order, once, unless nobody listens. */
export function memoryBus(node: Incarnation): Bus {
  const mailboxes: Record<Role, Mailbox> = {
    api: new Mailbox(),
    scheduler: new Mailbox(),
    gateway: new Mailbox(),
  };
  const owners = new OwnerMap();
  return {
    node,
    ownerOf: (shard) => owners.ownerOf(shard),
    nodes: (role) => (mailboxes[role].listener === null ? [] : [node]),
    send: (to, message) => {
      // A message to a node that is no more is lost, as on a network.
      if (to.node !== node) return;
      if (to.role === "api") owners.hear({ from: node, message: message as Mail["api"] });
      mailboxes[to.role].put({ from: node, message: message as never });
    },
    listen: <R extends Role>(role: R, receive: (messages: readonly Envelope<Mail[R]>[]) => void) =>
      mailboxes[role].open(receive as unknown as Listener),
  };
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

  /** Delivers after the sender's turn, with all that was sent in it. */
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
