import type { Dice } from "../dice.ts";
import type { VirtualClock } from "../virtual-clock.ts";

/** Repeats an action at times of the dice's choosing, until it is told to stop. */
export class NowAndThen {
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  #isOver = false;

  constructor(clock: VirtualClock, dice: Dice) {
    this.#clock = clock;
    this.#dice = dice;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * @param everyMs how long it is from one time to the next, about
   * @param firstWithinMs until the first time, at most
   */
  start(everyMs: number, act: () => void, firstWithinMs = everyMs): void {
    const next = () => {
      if (this.#isOver) return;
      act();
      this.#clock.plan(everyMs * 2 * this.#dice.roll(), next);
    };
    this.#clock.plan(firstWithinMs * this.#dice.roll(), next);
  }

  stop(): void {
    this.#isOver = true;
  }
}
