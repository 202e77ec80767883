import type { ServerMessage, WorkerMessage } from "@mainspring/proto";
import type { Session } from "../sessions/session.ts";
import type { ConnectedWorker, ConnectionRefusal, WorkerConnection } from "./connection.ts";

/** Operations of a gateway on messages from its links. */
export interface LinkEvents {
  /** The first message. It attaches a session, or closes the link. */
  greeted(link: Link, message: WorkerMessage): void;
  received(link: Link, session: Session, message: WorkerMessage): void;
  /** Once. */
  ended(link: Link): void;
}

/** One connection of a worker, from its opening to its end; after that nothing passes it in either direction. */
export class Link implements ConnectedWorker, WorkerConnection {
  /** null: it has not said hello. */
  session: Session | null = null;
  openedAtMs: number;
  readonly #carrier: WorkerConnection;
  readonly #events: LinkEvents;
  #isOver = false;

  constructor(carrier: WorkerConnection, openedAtMs: number, events: LinkEvents) {
    this.#carrier = carrier;
    this.openedAtMs = openedAtMs;
    this.#events = events;
  }

  receive(message: WorkerMessage): void {
    if (this.#isOver) return;
    if (this.session === null) this.#events.greeted(this, message);
    else this.#events.received(this, this.session, message);
  }

  closed(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#events.ended(this);
  }

  send(message: ServerMessage): void {
    if (!this.#isOver) this.#carrier.send(message);
  }

  close(code: ConnectionRefusal, detail: string): void {
    if (this.#isOver) return;
    this.closed();
    this.#carrier.close(code, detail);
  }

  get isInner(): boolean {
    return this.#carrier.isInner === true;
  }

  isCongested(): boolean {
    return this.#carrier.isCongested?.() === true;
  }
}
