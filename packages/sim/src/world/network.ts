import type { Dice } from "../dice.ts";
import type { VirtualClock } from "../virtual-clock.ts";

/** The network between servers: late always; lossy, repeating and cut off in parts when it is told to be. */
export class Network {
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  /** Ways that nothing comes through, and until when. */
  readonly #cut = new Map<string, number>();
  /** How many of all packets, 0 to 1, befalls what. */
  shares = { lost: 0, repeated: 0, held: 0 };
  #listener: (what: string) => void = () => undefined;

  constructor(clock: VirtualClock, dice: Dice) {
    this.#clock = clock;
    this.#dice = dice;
  }

  /** Told of each packet that met trouble. */
  observe(listener: (what: "LOST" | "REPEATED" | "HELD" | "CUT_OFF") => void): void {
    this.#listener = listener as (what: string) => void;
  }

  /** Nothing comes from one machine to the other for a while. */
  cut(from: string, to: string, forMs: number): void {
    this.#cut.set(`${from}>${to}`, this.#clock.nowMs + forMs);
  }

  /** Nothing comes through either way: who tries to connect is refused. */
  isBroken(one: string, other: string): boolean {
    return this.#isCut(one, other) && this.#isCut(other, one);
  }

  heal(): void {
    this.#cut.clear();
    this.shares = { lost: 0, repeated: 0, held: 0 };
  }

  /** @param pack called now for each copy that is on its way; what it returns, at the other end if it arrives there */
  carry(from: string, to: string, pack: () => () => void): void {
    const { lost, repeated, held } = this.shares;
    if (this.#isCut(from, to)) return this.#listener("CUT_OFF");
    if (this.#dice.chance(lost)) return this.#listener("LOST");
    this.#deliver(from, to, pack(), held);
    if (!this.#dice.chance(repeated)) return;
    this.#listener("REPEATED");
    this.#deliver(from, to, pack(), held);
  }

  #deliver(from: string, to: string, arrive: () => void, held: number): void {
    let delayMs = this.#dice.delayMs(0.5);
    if (this.#dice.chance(held)) {
      this.#listener("HELD");
      delayMs += this.#dice.between(5, 4_000);
    }
    this.#clock.plan(delayMs, () => {
      if (!this.#isCut(from, to)) arrive();
    });
  }

  #isCut(from: string, to: string): boolean {
    return (this.#cut.get(`${from}>${to}`) ?? 0) > this.#clock.nowMs;
  }
}
