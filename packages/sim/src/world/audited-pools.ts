import { AuditAnchors, type AuditNote, type SchedulerDependencies } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import { NowAndThen } from "./now-and-then.ts";
import type { SimServer } from "./sim-server.ts";

const AUDITED_EVERY = 20;
const AUDITED = 13;
const AUDITED_FROM = 313;
/** Mean interval of the changes, in simulated milliseconds. */
const CHANGE_EVERY_MS = 30_000;
/** Number of pools that are changed. */
const POOLS = 20;
/** Beginning of the names of the pools. */
export const AUDITED_POOL = "audited-";

/** Whether the servers of a seed seal an audit log, and operators make changes that it records. */
export function isAudited(seed: number): boolean {
  return seed % AUDITED_EVERY === AUDITED && seed >= AUDITED_FROM;
}

/** Operators that set up pools which no job uses, each time by another server, so that only the audit log says how often. */
export class AuditedPools {
  readonly #random: SeededRandom;
  readonly #server: () => SimServer | null;
  readonly #times: NowAndThen;

  constructor(clock: VirtualClock, random: SeededRandom, server: () => SimServer | null) {
    this.#random = random;
    this.#server = server;
    this.#times = new NowAndThen(clock, random);
    this.#times.start(CHANGE_EVERY_MS, () => this.#change());
  }

  calm(): void {
    this.#times.stop();
  }

  /** Some changes come together, so that their transactions end at once. */
  #change(): void {
    const store = this.#server()?.store ?? null;
    for (let count = this.#random.between(1, 4); count > 0; count--) {
      const name = `${AUDITED_POOL}${this.#random.between(1, POOLS)}`;
      store?.putPool({ name, paused: this.#random.chance(0.5) }, noteOf(name)).catch(() => undefined);
    }
  }
}

function noteOf(target: string): AuditNote {
  return {
    ...{ tenant: "default", actor: { kind: "OPERATOR", keyId: "operator", for: null }, action: "putPool", target },
    ...{ outcome: "DONE", requestId: null, address: null, detail: { fields: ["paused"] } },
  };
}

const DAYS_KEPT = 400;

/** Starts the writer of anchors of a server. */
export function sealAudit(
  { store, runtime, log }: Pick<SchedulerDependencies, "runtime" | "log"> & Pick<SchedulerDependencies, "store">,
  owned: () => { has(shard: number): boolean },
): void {
  new AuditAnchors({ audit: store.audit, runtime, log, owned, sign: null, days: DAYS_KEPT }).start();
}
