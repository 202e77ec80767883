import type { Logger } from "pino";
import type { Leases, NodeProfile } from "../../ports/leases.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { LeaseTerms } from "./ownership-rules.ts";

export interface PresenceDependencies {
  leases: Leases;
  profile: NodeProfile;
  terms: LeaseTerms;
  runtime: Runtime;
  log: Logger;
}

/** Renews the lease of a node that owns no shards, so that it and the other nodes know each other. */
export class Presence {
  readonly #deps: PresenceDependencies;
  #timer: Timer | null = null;
  #round: Promise<void> | null = null;
  #stopped = false;

  constructor(deps: PresenceDependencies) {
    this.#deps = deps;
    this.#look();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#round;
    const { leases, profile, log } = this.#deps;
    await leases.release(profile.incarnation).catch((error: unknown) => {
      log.warn({ err: error }, "the node could not release its lease; the lease runs out by itself");
    });
  }

  #look(): void {
    const { leases, profile, terms, runtime, log } = this.#deps;
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
