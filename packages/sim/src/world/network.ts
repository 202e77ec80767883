import type { Dice } from "../dice.ts";
import type { VirtualClock } from "../virtual-clock.ts";

/** When the end of a connection that hears nothing closes it: the mesh asks every 10 s, and waits 5 s for an answer. */
const NOTICED_AFTER_MS = 15_000;

/** The network between servers: late always; lossy, repeating and cut off in parts when it is told to be. */
export class Network {
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  /** Ways that nothing comes through, since when and until when. */
  readonly #cut = new Map<string, { sinceMs: number; untilMs: number }>();
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
    const nowMs = this.#clock.nowMs;
    const sinceMs = this.#isCut(from, to) ? (this.#cut.get(`${from}>${to}`)?.sinceMs ?? nowMs) : nowMs;
    this.#cut.set(`${from}>${to}`, { sinceMs, untilMs: nowMs + forMs });
  }

  /** Nothing comes through either way: who tries to connect is refused. */
  isBroken(one: string, other: string): boolean {
    return this.#isCut(one, other) && this.#isCut(other, one);
  }

  /** Broken, or cut in one direction for so long that either end has noticed that nothing is answered. */
  isDisconnected(one: string, other: string): boolean {
    return this.isBroken(one, other) || this.#isSilent(one, other) || this.#isSilent(other, one);
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

  #isSilent(from: string, to: string): boolean {
    const sinceMs = this.#cut.get(`${from}>${to}`)?.sinceMs ?? Number.POSITIVE_INFINITY;
    return this.#isCut(from, to) && this.#clock.nowMs - sinceMs >= NOTICED_AFTER_MS;
  }

  #isCut(from: string, to: string): boolean {
    return (this.#cut.get(`${from}>${to}`)?.untilMs ?? 0) > this.#clock.nowMs;
  }
}
