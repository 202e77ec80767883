import {
  type KnownNode,
  type Leases,
  LeasesUnavailable,
  type NodeLease,
  type NodeProfile,
} from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { SimProcess } from "../sim-process.ts";

/** Longest wait of a caller, in simulated milliseconds. */
const TIMEOUT_MS = 1_000;

/** Remainder by LEADERS_EVERY of the seeds whose nodes want one leader, and the first of them. */
const LEADERS_EVERY = 20;
const LEADERS = 3;
const LEADERS_FROM = 303;

/** Whether the nodes of a seed want one leader. */
export function wantsLeader(seed: number): boolean {
  return seed % LEADERS_EVERY === LEADERS && seed >= LEADERS_FROM;
}

interface Kept {
  profile: Omit<NodeProfile, "wasDraining" | "reaches">;
  reaches: readonly string[] | null;
  draining: boolean;
  renewedMs: number;
  untilMs: number;
  /** Time since which the lease was renewed without a gap, in simulated milliseconds. */
  steadySinceMs: number;
}

/** A lease, as operators of the cluster see it. */
export interface SeenNode extends KnownNode {
  /** Time for which the lease was renewed without a gap, in simulated milliseconds. */
  steadyForMs: number;
}

/**
 * Longest gap between renewals, in simulated milliseconds; other nodes may suspect a node after 400 ms without a
 * renewal.
 */
const GAP_MS = 350;

/** Lease service, which records living nodes by its own clock. It can be down, and it can be wrong. */
export class LeaseService {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #leases = new Map<string, Kept>();
  /** Machines that are told until a time that no other node lives. */
  readonly #blind = new Map<string, number>();
  #downUntilMs = 0;

  constructor(clock: VirtualClock, random: SeededRandom) {
    this.#clock = clock;
    this.#random = random;
  }

  down(forMs: number): void {
    this.#downUntilMs = this.#clock.nowMs + forMs;
  }

  /**
   * Tells this machine's node for `forMs` that no other node lives, whatever the others are told, so that two nodes
   * consider themselves the owner of the same shards.
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
        process.plan(this.#random.next() * TIMEOUT_MS, give);
        return;
      }
      this.#clock.plan(this.#random.delayMs(0.5), () => {
        const answer = effect();
        process.plan(this.#random.delayMs(0.5), () => resolve(answer));
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

  /** Sets the drain flag at once, because an operator reaches the service directly. */
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
