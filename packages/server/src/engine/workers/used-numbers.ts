import type { Incarnation, WorkerId } from "../../domain/ids.ts";

/** More than these are not remembered: those that were left longest ago are forgotten. */
const REMEMBERED_MAX = 50_000;

interface Used {
  gateway: Incarnation;
  account: number;
  /** The number of the last assignment. */
  sent: number;
}

/**
 * How far this owner has counted for workers that it has given up, or that have gone to another gateway. Where they were, the
 * account may still be open, and they may be back under it: what comes there under a number that was used is dropped.
 */
export class UsedNumbers {
  /** The last ones are at the end. */
  readonly #used = new Map<string, Used>();

  remember({ profile, gateway, account, sent }: Used & { profile: { workerId: WorkerId } }): void {
    const name = nameOf(profile.workerId, gateway);
    this.#used.delete(name);
    this.#used.set(name, { gateway, account, sent });
    if (this.#used.size <= REMEMBERED_MAX) return;
    for (const oldest of this.#used.keys()) {
      this.#used.delete(oldest);
      return;
    }
  }

  /** @returns the number of the last assignment under the account; 0: there was none */
  lastOf(workerId: WorkerId, { gateway, account }: Omit<Used, "sent">): number {
    const used = this.#used.get(nameOf(workerId, gateway));
    return used?.account === account ? used.sent : 0;
  }
}

function nameOf(workerId: WorkerId, gateway: Incarnation): string {
  return `${gateway} ${workerId}`;
}
