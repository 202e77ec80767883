import { type Backoff, fullJitterMs } from "../backoff.ts";
import type { Runtime, Timer } from "../runtime.ts";
import type { ClosedReason, LinkConnection, LinkEvents, WorkerLink } from "./worker-link.ts";

/** The server regards a worker as lost 5 s after its connection broke, so several tries must fit into that time. */
const BACKOFF: Backoff = { firstMs: 100, maxMs: 3_000 };
/** Shortest life of a connection, in milliseconds, that resets the count of failures. */
const STABLE_MS = 5_000;

/** gRPC status UNAUTHENTICATED. */
const KEY_REFUSED = 16;
/**
 * Time for which servers must have refused the key of a worker until it is dead, in milliseconds. A new key may need a second to be
 * known everywhere, and a function or a file may tell another one.
 */
const KEY_REFUSED_MAX_MS = 10_000;

export interface ConnectionEvents {
  opened(connection: LinkConnection): void;
  message: LinkEvents["message"];
  /**
   * Called when a connection has closed. @returns whether to connect again
   * @param isKeyDead whether servers have refused the key for so long that none will take it
   */
  closed(reason: ClosedReason, isKeyDead: boolean): boolean;
}

/**
 * Keeps one connection open: when the connection breaks, the reconnector opens another one after a wait. Late events of
 * an old connection are dropped.
 */
export class Reconnector {
  readonly #link: WorkerLink;
  readonly #runtime: Runtime;
  readonly #events: ConnectionEvents;
  /** Number of the present connection; events of all others are old. */
  #turn = 0;
  #connection: LinkConnection | null = null;
  #openedMs = 0;
  #failures = 0;
  /** Time since which servers have refused the key, on the monotonic clock; null: the last connection was accepted. */
  #refusedSinceMs: number | null = null;
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
        if (turn !== this.#turn) return;
        this.#refusedSinceMs = null;
        this.#events.message(message);
      },
      closed: (reason) => {
        if (turn === this.#turn) this.#closed(reason);
      },
    });
    // The reconnector may have been closed while this connection was being opened.
    if (turn !== this.#turn) return connection.close();
    this.#connection = connection;
    this.#events.opened(connection);
  }

  /** Closes the connection and opens another one. */
  drop(message: string): void {
    const connection = this.#connection;
    // This call comes first, because a link may report its close while it is being closed, and the report must not
    // count twice.
    this.#closed({ message });
    connection?.close();
  }

  /** Closes the connection and opens no other. */
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
    if (reason.code === KEY_REFUSED) this.#refusedSinceMs ??= nowMs;
    const isKeyDead = reason.code === KEY_REFUSED && nowMs - (this.#refusedSinceMs ?? nowMs) >= KEY_REFUSED_MAX_MS;
    if (!this.#events.closed(reason, isKeyDead)) return;
    const delayMs = fullJitterMs(BACKOFF, this.#failures, this.#runtime.random());
    this.#retry = this.#runtime.setTimer(delayMs, () => this.open());
  }
}
