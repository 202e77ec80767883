import type { Incarnation } from "../domain/ids.ts";
import { invariant } from "../domain/invariant.ts";
import type { Bus, Envelope, Mail, Receiver } from "./bus.ts";
import { OwnerMap } from "./owner-map.ts";

/** Number of messages plus attempts in them above which a mailbox delivers in a turn of the event loop of its own. */
const LONG_ITEMS = 2_000;

type Defer = (run: () => void) => void;
type Listener = (messages: readonly Envelope<never>[]) => void;

/**
 * Messages for the roles of one node, from this node or from other nodes. Delivers each message once and in order,
 * unless the role has no listener.
 */
export class Mailboxes {
  readonly #owners = new OwnerMap();
  readonly #boxes: Record<Receiver, Mailbox>;

  /**
   * @param defer runs a function at the end of the turn of the event loop; left out: long mail needs no turn of its own
   */
  constructor(defer: Defer = queueMicrotask) {
    const box = () => new Mailbox(defer);
    this.#boxes = { api: box(), scheduler: box(), gateway: box(), node: box() };
  }

  ownerOf: Bus["ownerOf"] = (shard) => this.#owners.ownerOf(shard);

  listen: Bus["listen"] = (role, receive) => this.#boxes[role].open(receive as unknown as Listener);

  hasListener(role: Receiver): boolean {
    return this.#boxes[role].listener !== null;
  }

  /** Delivers the message after the caller's turn, together with all others that arrived in that turn. */
  put<R extends Receiver>(from: Incarnation, role: R, message: Mail[R]): void {
    if (role === "api") this.#owners.hear({ from, message: message as Mail["api"] });
    this.#boxes[role].put({ from, message: message as never });
  }
}

/** Number of attempts in a message. Kinds of messages that never hold thousands of attempts count as 0. */
function itemsOf(message: Mail[Receiver]): number {
  if ("holds" in message) return message.holds.length;
  return "tokens" in message ? message.tokens.length : 0;
}

class Mailbox {
  listener: Listener | null = null;
  readonly #defer: Defer;
  #waiting: Envelope<never>[] = [];
  /** Number of waiting messages plus the attempts in them. */
  #items = 0;
  /** Whether the delivery of the waiting messages has been moved to the next turn. */
  #isDeferred = false;

  constructor(defer: Defer) {
    this.#defer = defer;
  }

  open(listener: Listener): () => void {
    invariant(this.listener === null, "a role has one listener");
    this.listener = listener;
    return () => {
      this.listener = null;
    };
  }

  put(envelope: Envelope<never>): void {
    this.#waiting.push(envelope);
    this.#items += 1 + itemsOf(envelope.message);
    if (this.#waiting.length === 1) queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    const isLong = this.#items > LONG_ITEMS && !this.#isDeferred;
    this.#isDeferred = isLong;
    if (isLong) return this.#defer(() => this.#deliver());
    this.#items = 0;
    const messages = this.#waiting;
    this.#waiting = [];
    this.listener?.(messages);
  }
}
