import type { Incarnation, WorkerId } from "../../domain/ids.ts";

/** Workers whose numbers are remembered. Beyond it, the one that was left longest ago is forgotten. */
const REMEMBERED_MAX = 50_000;

interface Used {
  gateway: Incarnation;
  account: number;
  /** Number of the last assignment. */
  sent: number;
}

/**
 * Last assignment numbers that this owner used for workers that it has given up or that have moved to another gateway.
 * The account may still be open at the former gateway, and the worker may return under it. The gateway would then drop
 * an assignment with a number that was used before.
 */
export class UsedNumbers {
  /** In order of departure, the latest last. */
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
