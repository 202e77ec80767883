import type { Runtime, Timer } from "../../ports/runtime.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import { type Fate, isAnswered, type StoreFault } from "./fate.ts";

/** Clock of the store in the simulation. */
export type StoreTime = Pick<Runtime, "now" | "setTimer">;

/** Connection of a node to the store. */
export interface Wire {
  time: StoreTime;
  /** Delivers an answer to the node: later if the node is paused, never if it is dead. */
  deliver: (run: () => void) => void;
  /** Called for every fault that happens. */
  onFault: (kind: StoreFault["kind"]) => void;
}

/** Effect and receivers of a call. */
export interface Errand<T> {
  /** Applies the call to the store, at its arrival. */
  effect: () => T;
  /** Receives the answer, at most once. */
  resolve: (answer: T) => void;
  reject: (error: StoreUnavailable) => void;
}

/**
 * One call on its way to the store and back, according to its fate. The effect happens in one instant, possibly long
 * after the caller has given up.
 */
export class Journey<T> {
  readonly #wire: Wire;
  readonly #fate: Fate;
  readonly #errand: Errand<T>;
  #arrival: Timer | null = null;
  #state: "SENT" | "DONE" | "SHUT_OUT" = "SENT";
  #gaveUp = false;
  #giveUpAt: Timer | null = null;
  /** Whether the caller has received an answer or an error. */
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
    // A call that is answered in time needs no timeout. Most calls are, and timers are the main cost of a simulation.
    if (!isAnswered(this.#fate)) this.#giveUpAt = time.setTimer(givesUpAfterMs, () => this.#giveUp());
  }

  /** Keeps the call from taking effect. A caller that still waits gets a broken connection. */
  shutOut(): void {
    this.#arrival?.cancel();
    this.#state = "SHUT_OUT";
    this.#wire.onFault("SHUT_OUT");
    if (isAnswered(this.#fate)) this.#comeBack(() => this.#errand.reject(unavailable("ended the connection")));
  }

  /** Breaks the connection: a call that has not arrived never will, and an answer on its way is lost. */
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
    if (this.#gaveUp) this.#wire.onFault("LATE_EFFECT");
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
    if (this.#fate.effectAfterMs === null) this.#wire.onFault("NEVER_ARRIVED");
    else if (this.#state === "DONE") this.#wire.onFault("ANSWER_LOST");
    this.#wire.deliver(() => this.#errand.reject(unavailable("did not answer")));
  }
}

function unavailable(what: string): StoreUnavailable {
  return new StoreUnavailable(`The simulated store ${what}`);
}
