import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";

/**
 * Time after which an end of a connection that hears nothing closes it, in simulated milliseconds: the mesh pings every
 * 10 s, and waits 5 s for an answer.
 */
const NOTICED_AFTER_MS = 15_000;

/** Network between servers: always delayed; on request, it loses and repeats packets, or is cut in parts. */
export class Network {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  /** Directions that are cut, with the start and end of the cut. */
  readonly #cut = new Map<string, { sinceMs: number; untilMs: number }>();
  /** Share of all packets that suffers each trouble, 0 to 1. */
  shares = { lost: 0, repeated: 0, held: 0 };
  #listener: (what: string) => void = () => undefined;

  constructor(clock: VirtualClock, random: SeededRandom) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Calls the listener for each packet that met trouble. */
  observe(listener: (what: "LOST" | "REPEATED" | "HELD" | "CUT_OFF") => void): void {
    this.#listener = listener as (what: string) => void;
  }

  /** Drops everything from one machine to the other for a while. */
  cut(from: string, to: string, forMs: number): void {
    const nowMs = this.#clock.nowMs;
    const sinceMs = this.#isCut(from, to) ? (this.#cut.get(`${from}>${to}`)?.sinceMs ?? nowMs) : nowMs;
    this.#cut.set(`${from}>${to}`, { sinceMs, untilMs: nowMs + forMs });
  }

  /** Whether nothing passes in either direction, so that a connection attempt is refused. */
  isBroken(one: string, other: string): boolean {
    return this.#isCut(one, other) && this.#isCut(other, one);
  }

  /**
   * Whether the way is broken, or cut in one direction for so long that both ends have noticed that no answer comes.
   */
  isDisconnected(one: string, other: string): boolean {
    return this.isBroken(one, other) || this.#isSilent(one, other) || this.#isSilent(other, one);
  }

  heal(): void {
    this.#cut.clear();
    this.shares = { lost: 0, repeated: 0, held: 0 };
  }

  /** @param pack called now for each copy that is sent; its result is called at the other end if the copy arrives */
  carry(from: string, to: string, pack: () => () => void): void {
    const { lost, repeated, held } = this.shares;
    if (this.#isCut(from, to)) return this.#listener("CUT_OFF");
    if (this.#random.chance(lost)) return this.#listener("LOST");
    this.#deliver(from, to, pack(), held);
    if (!this.#random.chance(repeated)) return;
    this.#listener("REPEATED");
    this.#deliver(from, to, pack(), held);
  }

  #deliver(from: string, to: string, arrive: () => void, held: number): void {
    let delayMs = this.#random.delayMs(0.5);
    if (this.#random.chance(held)) {
      this.#listener("HELD");
      delayMs += this.#random.between(5, 4_000);
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
