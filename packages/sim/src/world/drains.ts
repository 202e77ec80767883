import type { Dice } from "../dice.ts";
import type { History } from "../history.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { NowAndThen } from "./now-and-then.ts";
import type { LeaseService } from "./sim-leases.ts";

/** An operator drains one server now and then, and takes it back after a while; or all of them, by mistake. */
export class Drains {
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  readonly #history: History;
  readonly #leases: LeaseService;
  readonly #times: NowAndThen;

  constructor(clock: VirtualClock, dice: Dice, history: History, leases: LeaseService) {
    this.#clock = clock;
    this.#dice = dice;
    this.#history = history;
    this.#leases = leases;
    this.#times = new NowAndThen(clock, dice);
  }

  /** @param everyMs how long it is from one to the next, about */
  start(everyMs: number): void {
    this.#times.start(everyMs, () => {
      const living = this.#leases.list().filter(({ isLiving }) => isLiving);
      const chosen = this.#dice.chance(0.1) || living.length === 0 ? living : [this.#dice.pick(living)];
      const forMs = this.#dice.pick([300, 5_000, 30_000, 300_000]);
      for (const { incarnation } of chosen) this.#drain(incarnation, forMs);
    });
  }

  /** A drained server stays drained, and must do no harm. */
  stop(): void {
    this.#times.stop();
  }

  #drain(node: string, forMs: number): void {
    if (!this.#leases.drain(node, true)) return;
    this.#history.add({ kind: "OPERATED", deed: "DRAIN_NODE", forMs });
    this.#clock.plan(forMs, () => {
      if (!this.#times.isOver) this.#leases.drain(node, false);
    });
  }
}
