import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";

/** Repeats an action at random times until it is told to stop. */
export class NowAndThen {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  #isOver = false;

  constructor(clock: VirtualClock, random: SeededRandom) {
    this.#clock = clock;
    this.#random = random;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * @param everyMs mean interval, in simulated milliseconds
   * @param firstWithinMs longest time until the first action, in simulated milliseconds
   */
  start(everyMs: number, act: () => void, firstWithinMs = everyMs): void {
    const next = () => {
      if (this.#isOver) return;
      act();
      this.#clock.plan(everyMs * 2 * this.#random.next(), next);
    };
    this.#clock.plan(firstWithinMs * this.#random.next(), next);
  }

  stop(): void {
    this.#isOver = true;
  }
}
