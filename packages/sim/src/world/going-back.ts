import type { Tables } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { NowAndThen } from "./now-and-then.ts";

/**
 * - RESTORE: all servers are stopped, the store is put back by minutes, the servers are started again
 * - FAILOVER: the store loses its last commits, by milliseconds, while the servers live on
 * - REWIND: the same, by a change of the store's server that breaks no connection, until nodes notice it and raise the generation
 * - PROMOTION: as REWIND, but replicas confirm writes: no write that is lost was answered
 */
export type WayBack = "RESTORE" | "FAILOVER" | "REWIND" | "PROMOTION";

/** Kinds of faults in the history. */
const FAULTS: Record<WayBack, string> = {
  RESTORE: "STORE_RESTORED",
  FAILOVER: "STORE_FAILED_OVER",
  REWIND: "STORE_REWOUND",
  PROMOTION: "REPLICA_PROMOTED",
};

export interface StoreWithPast {
  copy(): Tables;
  goBack(copy: Tables): void;
  /** As `goBack`, by a change of the server that breaks no connection. */
  rewind(copy: Tables): void;
  /** Begins the generation of the present server. */
  raiseGeneration(): void;
  /** @param are whether writes take effect and are not answered, because no replica confirms them */
  unconfirmed(are: boolean): void;
  /** Breaks all connections to the store. */
  breakConnections(): void;
  /** Makes the store unreachable for a while. */
  down(forMs: number): void;
  /** Kills every server; each restarts by itself. */
  stopServers(): void;
}

/** Mean interval of the restores, in simulated milliseconds. */
const EVERY_MS = 300_000;
/** Age of a backup, in simulated milliseconds. */
const BACKUP_MS = [60_000, 600_000] as const;
/** Possible lags of a standby, in simulated milliseconds. */
const LAGS_MS = [1, 50, 500, 5_000, 30_000] as const;
export const LAG_MAX_MS = Math.max(...LAGS_MS);
/** Longest times from a change of the server until a node raises the generation, and until the other nodes notice it, in simulated milliseconds. */
const NOTICED_MS = [0, 200, 3_000] as const;
/** Duration of a failover, in simulated milliseconds. */
const FAILOVER_MS = [50, 10_000] as const;

/** Restores the store to an earlier state at random times, in the requested ways. */
export class GoingBack {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #store: StoreWithPast;
  readonly #times: NowAndThen;

  constructor(clock: VirtualClock, random: SeededRandom, history: History, store: StoreWithPast) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
    this.#store = store;
    this.#times = new NowAndThen(clock, random);
  }

  start(ways: readonly WayBack[]): void {
    let isUnderWay = false;
    this.#times.start(EVERY_MS, () => {
      const way = this.#random.pick(ways);
      const behindMs = way === "RESTORE" ? this.#random.between(...BACKUP_MS) : this.#random.pick(LAGS_MS);
      const downMs = this.#random.between(...FAILOVER_MS);
      // Only one backup exists at a time, so that the store is never restored to a state before the last restore.
      if (isUnderWay) return;
      isUnderWay = true;
      const copy = this.#store.copy();
      if (way === "PROMOTION") this.#store.unconfirmed(true);
      this.#clock.plan(behindMs, () => {
        if (way === "PROMOTION") this.#store.unconfirmed(false);
        const isChange = way === "REWIND" || way === "PROMOTION";
        const over = () => void (isUnderWay = false);
        if (this.#times.isOver) over();
        else if (isChange) this.#changeServer(way, copy, behindMs, over);
        else {
          over();
          this.#strike(way, copy, behindMs, downMs);
        }
      });
    });
  }

  stop(): void {
    this.#times.stop();
  }

  /** @param over called when all nodes have noticed the change */
  #changeServer(way: WayBack, copy: Tables, behindMs: number, over: () => void): void {
    this.#history.add({ kind: "FAULT", fault: FAULTS[way], on: `the store, by ${behindMs} ms` });
    this.#store.rewind(copy);
    this.#clock.plan(this.#random.pick(NOTICED_MS), () => {
      this.#store.raiseGeneration();
      this.#clock.plan(this.#random.pick(NOTICED_MS), () => {
        this.#store.breakConnections();
        over();
      });
    });
  }

  #strike(way: WayBack, copy: Tables, behindMs: number, downMs: number): void {
    this.#history.add({ kind: "FAULT", fault: FAULTS[way], on: `the store, by ${behindMs} ms`, forMs: downMs });
    if (way === "RESTORE") this.#store.stopServers();
    else this.#store.down(downMs);
    this.#store.breakConnections();
    this.#store.goBack(copy);
  }
}

/** Whether replicas confirm each write of the simulated store before its answer. */
export function isConfirmed({ waysBack }: { waysBack?: readonly WayBack[] }): boolean {
  return waysBack?.every((way) => way === "PROMOTION") ?? false;
}
