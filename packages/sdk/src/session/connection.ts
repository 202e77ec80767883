import { type Backoff, fullJitterMs } from "./backoff.ts";
import type { Runtime, Timer } from "./runtime.ts";
import type { ClosedReason, LinkConnection, LinkEvents, WorkerLink } from "./worker-link.ts";

/** A worker whose connection broke is lost after 5 s: several tries must fit into that. */
const BACKOFF: Backoff = { firstMs: 100, maxMs: 3_000 };
/** A connection that lived shorter did not end a row of failures. */
const STABLE_MS = 5_000;

export interface ConnectionEvents {
  opened(connection: LinkConnection): void;
  message: LinkEvents["message"];
  /** @returns whether to try again */
  closed(reason: ClosedReason): boolean;
}

/** Keeps one connection open: when it breaks, another one after a while. Late news of an old one are dropped. */
export class Reconnector {
  readonly #link: WorkerLink;
  readonly #runtime: Runtime;
  readonly #events: ConnectionEvents;
  /** Which connection it is; events of all others are old. */
  #turn = 0;
  #connection: LinkConnection | null = null;
  #openedMs = 0;
  #failures = 0;
  #retry: Timer | null = null;

  constructor(link: WorkerLink, runtime: Runtime, events: ConnectionEvents) {
    this.#link = link;
    this.#runtime = runtime;
    this.#events = events;
  }

  open(): void {
    const turn = ++this.#turn;
    this.#openedMs = this.#runtime.monotonicMs();
    const connection = this.#link.open({
      message: (message) => {
        if (turn === this.#turn) this.#events.message(message);
      },
      closed: (reason) => {
        if (turn === this.#turn) this.#closed(reason);
      },
    });
    // It may have been closed while it was being opened.
    if (turn !== this.#turn) return connection.close();
    this.#connection = connection;
    this.#events.opened(connection);
  }

  /** Gives the connection up and tries another one. */
  drop(message: string): void {
    const connection = this.#connection;
    // First: a link may say that it is closed while it is being closed, and that would be the second time.
    this.#closed({ message });
    connection?.close();
  }

  /** For good. */
  close(): void {
    this.#turn++;
    this.#retry?.cancel();
    this.#connection?.close();
    this.#connection = null;
  }

  #closed(reason: ClosedReason): void {
    const nowMs = this.#runtime.monotonicMs();
    this.#turn++;
    this.#connection = null;
    this.#failures = nowMs - this.#openedMs >= STABLE_MS ? 1 : this.#failures + 1;
    if (!this.#events.closed(reason)) return;
    const delayMs = fullJitterMs(BACKOFF, this.#failures, this.#runtime.random());
    this.#retry = this.#runtime.setTimer(delayMs, () => this.open());
  }
}
