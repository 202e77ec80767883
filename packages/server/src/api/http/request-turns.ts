import type { Socket } from "node:net";
import { atEndOfTurn, type Runtime } from "../ports/runtime.ts";

export interface TurnLimits {
  /** Time that requests take in one turn of the event loop. */
  turnMs: number;
  /** Requests, errors and ends of connections, and small pieces of bodies, in one turn; after them the turn reads no more connections. */
  heard: number;
  /** Connections that are read again in one turn, at most. */
  readAgain: number;
}

const TURN_LIMITS: TurnLimits = { turnMs: 5, heard: 128, readAgain: 64 };

/**
 * Spreads requests over turns of the event loop. Thousands of connections may have something to read at the same moment,
 * and Node would handle all of them in one turn. Requests beyond the time of a turn wait in order. Reading a request takes time too, so beyond a number of requests the server reads no connection until it has
 * handled what waits, and then some connections in each turn.
 */
export class RequestTurns {
  readonly #runtime: Pick<Runtime, "defer" | "setTimer" | "monotonicMs">;
  readonly #limits: TurnLimits;
  readonly #connections = new Set<Socket>();
  readonly #unread = new Set<Socket>();
  /** FIFO from `#head` on. */
  #waiting: (() => void)[] = [];
  #head = 0;
  /** Begin of the turn, on the monotonic clock; null: nothing happened since the last turn ended. */
  #beganMs: number | null = null;
  #heard = 0;
  /** Connections that are read again in the next turn. */
  #pace = 1;

  constructor(runtime: Pick<Runtime, "defer" | "setTimer" | "monotonicMs">, limits: TurnLimits = TURN_LIMITS) {
    this.#runtime = runtime;
    this.#limits = limits;
  }

  /** A connection that requests come from. */
  opened(socket: Socket): void {
    this.#connections.add(socket);
    socket.once("end", () => this.heard()).once("close", () => this.leave(socket));
    // The reader of a body reads on by itself.
    socket.on("resume", () => {
      if (this.#unread.has(socket)) stopReading(socket);
    });
    if (this.#unread.size > 0) this.#leaveUnread(socket);
  }

  /** The connection is not read on. */
  leave(socket: Socket): void {
    this.#connections.delete(socket);
    this.#unread.delete(socket);
  }

  /** Counts a request, pieces of a body, an error or the end of a connection. */
  heard(): void {
    this.#beginTurn();
    if (++this.#heard !== this.#limits.heard) return;
    for (const socket of this.#connections) this.#leaveUnread(socket);
  }

  /** Runs it now, or in a later turn, after everything that waits. */
  enter(run: () => void): void {
    this.#beginTurn();
    if (this.#count === 0 && !this.#isOver) run();
    else this.#waiting.push(run);
  }

  /** Likewise; what follows waits for the next turn, as the work goes on behind `run`. */
  enterAlone(run: () => void): void {
    this.enter(() => {
      run();
      this.#beganMs = Number.NEGATIVE_INFINITY;
    });
  }

  get #count(): number {
    return this.#waiting.length - this.#head;
  }

  get #isOver(): boolean {
    return this.#runtime.monotonicMs() - (this.#beganMs ?? 0) >= this.#limits.turnMs;
  }

  #beginTurn(): void {
    if (this.#beganMs !== null) return;
    this.#beganMs = this.#runtime.monotonicMs();
    atEndOfTurn(this.#runtime, () => this.#endTurn());
  }

  #endTurn(): void {
    const heard = this.#heard;
    this.#beganMs = null;
    this.#heard = 0;
    if (this.#count === 0 && this.#unread.size === 0) return;
    // The present piece takes its time from the turn that follows.
    this.#beginTurn();
    while (this.#count > 0 && !this.#isOver) (this.#waiting[this.#head++] as () => void)();
    if (this.#count > 0) return;
    this.#waiting = [];
    this.#head = 0;
    this.#readAgain(heard);
  }

  #leaveUnread(socket: Socket): void {
    this.#unread.add(socket);
    socket.pause();
  }

  /** Fewer where the last ones had much to say: one connection may bring a thousand requests at once. */
  #readAgain(heard: number): void {
    const { heard: most, readAgain } = this.#limits;
    this.#pace = heard >= most ? 1 : Math.min(2 * this.#pace, readAgain);
    let left = this.#pace;
    for (const socket of this.#unread) {
      if (left-- === 0) return;
      this.#unread.delete(socket);
      socket.resume();
    }
  }
}

/**
 * Node announces a resume in the tick after it, and its HTTP server reads on at that moment, even where the socket was paused in
 * between. A second pause of a paused socket says nothing, so the event is repeated.
 */
export function stopReading(socket: Socket): void {
  if (socket.isPaused()) socket.emit("pause");
  else socket.pause();
}
