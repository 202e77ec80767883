import { type Leases, LeasesUnavailable, type NodeLease, type NodeProfile } from "@mainspring/server/testing";
import type { Dice } from "../dice.ts";
import type { SimProcess } from "../sim-process.ts";
import type { VirtualClock } from "../virtual-clock.ts";

/** How long a caller waits for an answer. */
const TIMEOUT_MS = 1_000;

/** The lease service: keeps who lives, by its own clock. It can be down, and it can be wrong. */
export class LeaseService {
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  readonly #leases = new Map<string, { profile: NodeProfile; renewedMs: number; untilMs: number }>();
  /** Who is told, until when, that there is nobody but him. */
  readonly #blind = new Map<string, number>();
  #downUntilMs = 0;

  constructor(clock: VirtualClock, dice: Dice) {
    this.#clock = clock;
    this.#dice = dice;
  }

  down(forMs: number): void {
    this.#downUntilMs = this.#clock.nowMs + forMs;
  }

  /** Names this node the only one, whatever it tells the others: two will hold themselves for the owner of the same shards. */
  mislead(machine: string, forMs: number): void {
    this.#blind.set(machine, this.#clock.nowMs + forMs);
  }

  heal(): void {
    this.#downUntilMs = 0;
    this.#blind.clear();
  }

  /** The service as one process reaches it. */
  client(process: SimProcess): Leases {
    return {
      renew: (profile, ttlMs) => this.#call(process, () => this.#renew(profile, ttlMs)),
      release: (node) => this.#call(process, () => void this.#leases.delete(node)),
    };
  }

  #call<T>(process: SimProcess, effect: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#downUntilMs > this.#clock.nowMs) {
        const give = () => reject(new LeasesUnavailable("the lease service did not answer"));
        process.plan(this.#dice.roll() * TIMEOUT_MS, give);
        return;
      }
      this.#clock.plan(this.#dice.delayMs(0.5), () => {
        const answer = effect();
        process.plan(this.#dice.delayMs(0.5), () => resolve(answer));
      });
    });
  }

  #renew(profile: NodeProfile, ttlMs: number): NodeLease[] {
    const nowMs = this.#clock.nowMs;
    this.#leases.set(profile.incarnation, { profile, renewedMs: nowMs, untilMs: nowMs + ttlMs });
    for (const [node, { untilMs }] of this.#leases) if (untilMs < nowMs) this.#leases.delete(node);
    const isBlind = (this.#blind.get(profile.name) ?? 0) > nowMs;
    return [...this.#leases.values()]
      .filter((lease) => !isBlind || lease.profile.incarnation === profile.incarnation)
      .map((lease) => ({ ...lease.profile, renewedAgoMs: nowMs - lease.renewedMs }));
  }
}
