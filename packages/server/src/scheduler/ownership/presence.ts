import type { Logger } from "pino";
import type { Leases, NodeProfile } from "../../ports/leases.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { LeaseTerms } from "./ownership.ts";

export interface PresenceParts {
  leases: Leases;
  profile: NodeProfile;
  terms: LeaseTerms;
  runtime: Runtime;
  log: Logger;
}

/** Keeps the lease of a node that owns no shards, so that the others know it, and it them. */
export class Presence {
  readonly #parts: PresenceParts;
  #timer: Timer | null = null;
  #round: Promise<void> | null = null;
  #stopped = false;

  constructor(parts: PresenceParts) {
    this.#parts = parts;
    this.#look();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#round;
    const { leases, profile, log } = this.#parts;
    await leases.release(profile.incarnation).catch((error: unknown) => {
      log.warn({ err: error }, "the lease could not be given up; it runs out by itself");
    });
  }

  #look(): void {
    const { leases, profile, terms, runtime, log } = this.#parts;
    this.#round = leases
      .renew(profile, terms.ttlMs)
      .then(
        () => undefined,
        (error: unknown) => log.warn({ err: error }, "the node could not renew its lease and tries again"),
      )
      .then(() => {
        if (!this.#stopped) this.#timer = runtime.setTimer(terms.renewEveryMs, () => this.#look());
      });
  }
}
