import { type Runtime, StoreUnavailable, type Timer } from "@mainspring/server/testing";
import { type Fate, isAnswered, type StoreSighting } from "./fate.ts";

/** The store's own time, in the simulation. */
export type StoreTime = Pick<Runtime, "now" | "setTimer">;

/** How a node is connected to the store. */
export interface Wire {
  time: StoreTime;
  /** Hands something that has come back to the node: later if it is paused, never if it is dead. */
  deliver: (run: () => void) => void;
  /** Told of every fault that has come about. */
  sighted: (kind: StoreSighting["kind"]) => void;
}

/** Load of a journey, and its receivers. */
export interface Errand<T> {
  /** It has arrived and takes effect now. */
  effect: () => T;
  /** The caller hears what came of it, once at most. */
  resolve: (answer: T) => void;
  reject: (error: StoreUnavailable) => void;
}

/**
 * One call on its way to the store and back, along its fate. The effect happens in one instant, and may happen although
 * the caller has long given up.
 */
export class Journey<T> {
  readonly #wire: Wire;
  readonly #fate: Fate;
  readonly #errand: Errand<T>;
  #arrival: Timer | null = null;
  #state: "SENT" | "DONE" | "SHUT_OUT" = "SENT";
  #gaveUp = false;
  #giveUpAt: Timer | null = null;
  /** The caller has heard, or never will. */
  #isOver = false;

  constructor(wire: Wire, fate: Fate, errand: Errand<T>) {
    this.#wire = wire;
    this.#fate = fate;
    this.#errand = errand;
  }

  begin(): void {
    const { time } = this.#wire;
    const { effectAfterMs, givesUpAfterMs } = this.#fate;
    if (effectAfterMs !== null) this.#arrival = time.setTimer(effectAfterMs, () => this.#arrive());
    // A call that is answered in time needs no time-out. Most calls are, and timers make up the cost of a simulation.
    if (!isAnswered(this.#fate)) this.#giveUpAt = time.setTimer(givesUpAfterMs, () => this.#giveUp());
  }

  /** It is not to take effect any more. A caller that still waits sees its connection break. */
  shutOut(): void {
    this.#arrival?.cancel();
    this.#state = "SHUT_OUT";
    this.#wire.sighted("SHUT_OUT");
    if (isAnswered(this.#fate)) this.#comeBack(() => this.#errand.reject(unavailable("ended the connection")));
  }

  /** The connection breaks: what has not arrived never will, and what was answered is not heard. */
  breakOff(): void {
    if (this.#isOver) return;
    this.#arrival?.cancel();
    this.#giveUpAt?.cancel();
    this.#isOver = true;
    this.#gaveUp = true;
    this.#wire.deliver(() => this.#errand.reject(unavailable("was replaced by another one")));
  }

  #arrive(): void {
    this.#state = "DONE";
    const answer = this.#errand.effect();
    if (this.#gaveUp) this.#wire.sighted("LATE_EFFECT");
    else if (isAnswered(this.#fate)) this.#comeBack(() => this.#errand.resolve(answer));
  }

  #comeBack(run: () => void): void {
    this.#wire.time.setTimer(this.#fate.answerAfterMs ?? 0, () => {
      if (this.#isOver) return;
      this.#isOver = true;
      this.#wire.deliver(run);
    });
  }

  #giveUp(): void {
    this.#gaveUp = true;
    this.#isOver = true;
    if (this.#fate.effectAfterMs === null) this.#wire.sighted("NEVER_ARRIVED");
    else if (this.#state === "DONE") this.#wire.sighted("ANSWER_LOST");
    this.#wire.deliver(() => this.#errand.reject(unavailable("did not answer")));
  }
}

function unavailable(what: string): StoreUnavailable {
  return new StoreUnavailable(`The simulated store ${what}`);
}
