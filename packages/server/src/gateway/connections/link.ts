import type { ServerMessage, WorkerMessage } from "@mainspring/proto";
import type { Principal } from "../../ports/authenticator.ts";
import type { Session } from "../sessions/session.ts";
import type { ConnectedWorker, ConnectionRefusal, WorkerConnection } from "./connection.ts";

/** Events of a link that its gateway handles. */
export interface LinkEvents {
  /** Handles the first message of a link, which attaches the link to a session or closes it. */
  greeted(link: Link, message: WorkerMessage): void;
  received(link: Link, session: Session, message: WorkerMessage): void;
  /** Reports the end of the link, once. */
  ended(link: Link): void;
}

/** One connection of a worker. After its end, no message passes in either direction. */
export class Link implements ConnectedWorker, WorkerConnection {
  /** Session of the worker; null: no hello has arrived yet. */
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

  get principal(): Principal | null {
    return this.#carrier.principal ?? null;
  }

  isCongested(): boolean {
    return this.#carrier.isCongested?.() === true;
  }
}
