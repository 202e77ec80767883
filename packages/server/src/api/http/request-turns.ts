import type { Socket } from "node:net";
import { atEndOfTurn, type Runtime } from "../../ports/runtime.ts";

export interface TurnLimits {
  /** Time that requests take in one turn of the event loop, in milliseconds. */
  turnMs: number;
  /**
   * Number of requests, errors, ends of connections and small pieces of bodies in one turn; after these the turn reads
   * no more connections.
   */
  heard: number;
  /** Largest number of connections that resume reading in one turn. */
  readAgain: number;
}

const TURN_LIMITS: TurnLimits = { turnMs: 5, heard: 128, readAgain: 64 };

/**
 * Spreads requests over turns of the event loop. Thousands of connections may become readable at the same moment, and
 * Node would handle all of them in one turn. Requests beyond the time of a turn wait in order. Reading a request takes
 * time too, so beyond a number of requests the server reads no connection until it has handled the waiting ones, and
 * then some connections in each turn.
 */
export class RequestTurns {
  readonly #runtime: Pick<Runtime, "defer" | "setTimer" | "monotonicMs">;
  readonly #limits: TurnLimits;
  readonly #connections = new Set<Socket>();
  readonly #unread = new Set<Socket>();
  /** Queue (FIFO) from index `#head` on. */
  #waiting: (() => void)[] = [];
  #head = 0;
  /** Start of the turn, in milliseconds of the monotonic clock; null: nothing happened since the last turn ended. */
  #beganMs: number | null = null;
  #heard = 0;
  /** Number of connections that resume reading in the next turn. */
  #pace = 1;

  constructor(runtime: Pick<Runtime, "defer" | "setTimer" | "monotonicMs">, limits: TurnLimits = TURN_LIMITS) {
    this.#runtime = runtime;
    this.#limits = limits;
  }

  /** Adds a connection from which requests come. */
  opened(socket: Socket): void {
    this.#connections.add(socket);
    socket.once("end", () => this.heard()).once("close", () => this.leave(socket));
    // The reader of a body resumes reading by itself.
    socket.on("resume", () => {
      if (this.#unread.has(socket)) stopReading(socket);
    });
    if (this.#unread.size > 0) this.#leaveUnread(socket);
  }

  /** Stops reading a connection. */
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

  /** Runs work now, or in a later turn, after everything that waits. */
  enter(run: () => void): void {
    this.#beginTurn();
    if (this.#count === 0 && !this.#isOver) run();
    else this.#waiting.push(run);
  }

  /** Like `enter`, but everything after it waits for the next turn, because the work goes on after `run`. */
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
    // The time of the present piece counts in the following turn.
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

  /**
   * Resumes reading connections, fewer of them if the last ones brought many requests: one connection may bring a
   * thousand at once.
   */
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
 * Stops reading a socket. Node announces a resume one tick later, and its HTTP server starts reading at that moment,
 * even if the socket was paused in between. A second pause of a paused socket emits no event, so this function repeats
 * the event.
 */
export function stopReading(socket: Socket): void {
  if (socket.isPaused()) socket.emit("pause");
  else socket.pause();
}
