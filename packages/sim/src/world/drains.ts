import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { NowAndThen } from "./now-and-then.ts";
import type { LeaseService } from "./sim-leases.ts";

/**
 * An operator that drains one server at random times and ends the drain after a while; sometimes drains all servers, by
 * mistake.
 */
export class Drains {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #leases: LeaseService;
  readonly #times: NowAndThen;

  constructor(clock: VirtualClock, random: SeededRandom, history: History, leases: LeaseService) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
    this.#leases = leases;
    this.#times = new NowAndThen(clock, random);
  }

  /** @param everyMs mean interval of the drains, in simulated milliseconds */
  start(everyMs: number): void {
    this.#times.start(everyMs, () => {
      const living = this.#leases.list().filter(({ isLiving }) => isLiving);
      const chosen = this.#random.chance(0.1) || living.length === 0 ? living : [this.#random.pick(living)];
      const forMs = this.#random.pick([300, 5_000, 30_000, 300_000]);
      for (const { incarnation } of chosen) this.#drain(incarnation, forMs);
    });
  }

  /**
   * Stops the operator. A server that is draining stays so to the end of the simulation, and the checkers expect that
   * every job still runs.
   */
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
