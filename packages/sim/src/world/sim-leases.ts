import {
  type KnownNode,
  type Leases,
  LeasesUnavailable,
  type NodeLease,
  type NodeProfile,
} from "@mainspring/server/testing";
import type { Dice } from "../dice.ts";
import type { SimProcess } from "../sim-process.ts";
import type { VirtualClock } from "../virtual-clock.ts";

/** How long a caller waits for an answer. */
const TIMEOUT_MS = 1_000;

interface Kept {
  profile: Omit<NodeProfile, "wasDraining" | "reaches">;
  reaches: readonly string[] | null;
  draining: boolean;
  renewedMs: number;
  untilMs: number;
  /** Since when it was renewed without a gap. */
  steadySinceMs: number;
}

/** A lease as who runs the cluster sees it. */
export interface SeenNode extends KnownNode {
  /** How long it has been renewed without a gap. */
  steadyForMs: number;
}

/** Others may suspect a node that has not renewed its lease for 400 ms. */
const GAP_MS = 350;

/** The lease service: keeps who lives, by its own clock. It can be down, and it can be wrong. */
export class LeaseService {
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  readonly #leases = new Map<string, Kept>();
  /** Machines that are told until then that no other node lives. */
  readonly #blind = new Map<string, number>();
  #downUntilMs = 0;

  constructor(clock: VirtualClock, dice: Dice) {
    this.#clock = clock;
    this.#dice = dice;
  }

  down(forMs: number): void {
    this.#downUntilMs = this.#clock.nowMs + forMs;
  }

  /**
   * Names this node the only one, whatever it tells the others: two will hold themselves for the owner of the same
   * shards.
   */
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
      list: () => this.#call(process, () => this.list()),
      drain: (node, isDraining) => this.#call(process, () => this.drain(node, isDraining)),
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

  list(): SeenNode[] {
    const nowMs = this.#clock.nowMs;
    return [...this.#leases.values()].map((kept) => ({
      ...leaseOf(kept, nowMs),
      isLiving: kept.untilMs >= nowMs,
      steadyForMs: nowMs - kept.renewedMs > GAP_MS ? 0 : nowMs - kept.steadySinceMs,
    }));
  }

  /** Takes effect at once: an operator reaches the service directly. */
  drain(node: string, isDraining: boolean): boolean {
    const kept = this.#leases.get(node);
    if (kept === undefined || kept.untilMs < this.#clock.nowMs) return false;
    kept.draining = isDraining;
    return true;
  }

  #renew({ wasDraining = false, reaches = null, ...profile }: NodeProfile, ttlMs: number): NodeLease[] {
    const nowMs = this.#clock.nowMs;
    const before = this.#leases.get(profile.incarnation);
    const draining = before?.draining ?? wasDraining;
    const isSteady = before !== undefined && nowMs - before.renewedMs <= GAP_MS;
    const steadySinceMs = isSteady ? before.steadySinceMs : nowMs;
    const times = { renewedMs: nowMs, untilMs: nowMs + ttlMs, steadySinceMs };
    this.#leases.set(profile.incarnation, { profile, draining, reaches, ...times });
    for (const [node, { untilMs }] of this.#leases) if (untilMs < nowMs) this.#leases.delete(node);
    const isBlind = (this.#blind.get(profile.name) ?? 0) > nowMs;
    return [...this.#leases.values()]
      .filter((lease) => !isBlind || lease.profile.incarnation === profile.incarnation)
      .map((lease) => leaseOf(lease, nowMs));
  }
}

function leaseOf({ profile, draining, reaches, renewedMs }: Kept, nowMs: number): NodeLease {
  return { ...profile, draining, reaches, renewedAgoMs: nowMs - renewedMs };
}
