import { IndexData, IndexUnavailable, isFinal, type SideIndex, type StoreData } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { EPOCH_MS, type SimProcess } from "../sim-process.ts";
import { NowAndThen } from "./now-and-then.ts";
import type { SimServer } from "./sim-server.ts";

/** Remainder by INDEX_EVERY of the seeds whose servers have an index beside the store, and the first of them. */
const INDEX_EVERY = 20;
const INDEX = 7;
const INDEX_FROM = 307;
/** The index is down for the first part of every period until faults end, in simulated milliseconds. */
const PERIOD_MS = 300_000;
const DOWN_MS = 30_000;
/** Longest way to the index or back, and time after which a server no longer waits for an answer. */
const WAY_MS = 15;
const PATIENCE_MS = 500;
/** Mean interval at which the index loses data, and at which the store is away while clients cancel, in simulated milliseconds. */
const LOSS_EVERY_MS = 240_000;
const OUTAGE_EVERY_MS = 120_000;
/** Age of the state that a replica has when it takes over. */
const COPY_EVERY_MS = 5_000;
/** Executions that clients cancel during one outage. */
const CANCELS_MAX = 8;

/** Whether the servers of a seed have an index beside the store. */
export function hasIndex(seed: number): boolean {
  return seed % INDEX_EVERY === INDEX && seed >= INDEX_FROM;
}

export interface IndexTargets {
  data: StoreData;
  server(): SimServer | null;
  storeDown(forMs: number): void;
}

/**
 * Redis beside the store, once for all servers: slow, often down, with lost calls and answers. Now and then it loses everything, or its last
 * writes, as after a failover. Clients cancel executions while the store is away.
 */
export class IndexSystem {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #data: IndexData;
  readonly #times: readonly NowAndThen[];
  #isCalm = false;

  constructor(clock: VirtualClock, random: SeededRandom, history: History, targets: IndexTargets) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
    this.#data = new IndexData(
      () => Math.floor(EPOCH_MS + clock.nowMs),
      (executionIds) => history.add({ kind: "CANCELS_REMOVED", executionIds }),
    );
    const [losses, outages] = [random.fork("losses"), random.fork("outages")];
    this.#times = [new NowAndThen(clock, losses), new NowAndThen(clock, outages)];
    this.#times[0]?.start(LOSS_EVERY_MS, () => this.#lose(losses));
    this.#times[1]?.start(OUTAGE_EVERY_MS, () => this.#outage(outages, targets));
  }

  /** Ends all faults. */
  calm(): void {
    this.#isCalm = true;
    for (const times of this.#times) times.stop();
  }

  /** The index as a server's process sees it. A call takes effect even if the process dies meanwhile. */
  index(process: SimProcess): SideIndex {
    return this.#data.index((run) => this.#call(process, run));
  }

  #call<T>(process: SimProcess, run: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const fate = this.#isCalm ? 1 : this.#random.next();
      const way = () => this.#random.between(1, WAY_MS);
      // Some calls take effect after the server has stopped waiting.
      this.#clock.plan(fate < 0.01 ? PATIENCE_MS + way() : way(), () => {
        if (this.#isDown || (fate > 0.97 && fate < 1)) return;
        const answer = run();
        if (fate >= 0.05) this.#clock.plan(way(), () => process.take(() => resolve(answer)));
      });
      process.plan(PATIENCE_MS, () => reject(new IndexUnavailable("no answer")));
    });
  }

  #lose(random: SeededRandom): void {
    if (random.chance(0.5)) {
      this.#data.flush();
      this.#history.add({ kind: "INDEX_LOST", what: "everything" });
      return;
    }
    const copy = this.#data.copy();
    this.#clock.plan(random.between(1, COPY_EVERY_MS), () => {
      if (this.#isCalm) return;
      this.#data.goBack(copy);
      this.#history.add({ kind: "INDEX_LOST", what: "the last writes" });
    });
  }

  #outage(random: SeededRandom, { data, server, storeDown }: IndexTargets): void {
    const forMs = random.between(3_000, 20_000);
    this.#history.add({ kind: "FAULT", fault: "STORE_DOWN", on: "the store", forMs });
    storeDown(forMs);
    const open = [...data.executions.all()].filter(({ state, node }) => !isFinal(state) && node === null);
    for (let n = random.between(0, CANCELS_MAX); n > 0 && open.length > 0; n--) {
      const { id } = random.pick(open);
      this.#clock.plan(random.next() * forMs, () => void this.#cancel(id, server()));
    }
  }

  async #cancel(executionId: string, server: SimServer | null): Promise<void> {
    this.#history.add({ kind: "CANCEL_ASKED", executionId });
    const answer = await server?.cancelOrKeep(executionId).catch(() => null);
    if (answer?.durable === false) this.#history.add({ kind: "CANCEL_KEPT", executionId });
  }

  get #isDown(): boolean {
    return !this.#isCalm && this.#clock.nowMs % PERIOD_MS < DOWN_MS;
  }
}
