import type { EpochMs, Incarnation } from "../../domain/ids.ts";
import type { ToldShare } from "../../ports/share-messages.ts";

/** Time in ms after which the attempts of an owner that tells nothing count no more. */
const SILENT_MS = 3_000;
/** Smoothed attempts in thousandths below which a tenant counts no more if its owner tells none. */
const REST_MIN = 250;

interface Heard {
  at: EpochMs;
  /** Smoothed attempts in thousandths, by pool and tenant. */
  shares: Map<string, number>;
}

/** Attempts of tenants that other owners have, as they told them last. Lost messages make the order less fair, and nothing else. */
export class Others {
  readonly #heard = new Map<Incarnation, Heard>();
  #sums = new Map<string, number>();

  /** Attempts of the tenant in the pool, in thousandths. */
  of(pool: string, tenant: string): number {
    return this.#sums.get(nameOf(pool, tenant)) ?? 0;
  }

  /**
   * Takes what an owner tells of the last second: half of it counts, beside half of what counted before. Without that, owners that
   * react to each other's figures would overshoot in turns. A rest that only became smaller would stay for ten seconds, and between tenants
   * without attempts it would decide in place of their virtual times.
   */
  hear(from: Incarnation, told: readonly ToldShare[], now: EpochMs): void {
    const before = this.#heard.get(from)?.shares;
    const shares = new Map(told.map(({ pool, tenant, attempts }) => [nameOf(pool, tenant), attempts]));
    if (before !== undefined) {
      for (const [name, attempts] of before) {
        const latest = shares.get(name) ?? 0;
        const smoothed = Math.trunc((attempts + latest) / 2);
        if (smoothed >= (latest === 0 ? REST_MIN : 1)) shares.set(name, smoothed);
        else shares.delete(name);
      }
      for (const [name, attempts] of shares) if (!before.has(name)) shares.set(name, Math.trunc(attempts / 2));
    }
    this.#heard.set(from, { at: now, shares });
    this.#add();
  }

  /** Forgets owners that have told nothing for some seconds. @returns whether there were any */
  forgetSilent(now: EpochMs): boolean {
    const count = this.#heard.size;
    for (const [from, { at }] of this.#heard) if (Math.abs(now - at) > SILENT_MS) this.#heard.delete(from);
    if (this.#heard.size === count) return false;
    this.#add();
    return true;
  }

  #add(): void {
    this.#sums = new Map();
    for (const { shares } of this.#heard.values()) {
      for (const [name, attempts] of shares) this.#sums.set(name, (this.#sums.get(name) ?? 0) + attempts);
    }
  }
}

function nameOf(pool: string, tenant: string): string {
  return `${pool}\u0000${tenant}`;
}
