import { type Incarnation, type Runtime, Scene, type Timer } from "@mainspring/server/testing";
import type { Fate, StoreOperation, StoreSighting } from "./fate.ts";
import { SimStore } from "./sim-store.ts";
import { byText, SortedList } from "./sorted-list.ts";
import { StoreData, type StoreDataOptions } from "./store-data.ts";

const START_MS = Date.UTC(2030, 0, 15);

interface Planned {
  atMs: number;
  /** In the order in which they were planned. */
  number: string;
  run: () => void;
}

/** Time that passes when everybody waits for it, and only then. */
class IdleTime implements Runtime {
  readonly #planned = new SortedList<Planned>((a, b) => a.atMs - b.atMs || byText(a.number, b.number));
  #nowMs = START_MS;
  #count = 0;
  #isGoingOn = false;

  now = (): number => Math.floor(this.#nowMs);
  monotonicMs = (): number => this.#nowMs - START_MS;
  random = (): number => 0.5;
  uuid = (): string => `01900000-0000-7000-8000-${this.#next()}`;

  setTimer = (delayMs: number, run: () => void): Timer => {
    const planned = { atMs: this.#nowMs + delayMs, number: this.#next(), run };
    this.#planned.add(planned);
    this.#goOn();
    return { cancel: () => void this.#planned.delete(planned) };
  };

  /** Resolves when so much time has passed. */
  pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.setTimer(ms, resolve));
  }

  #goOn(): void {
    if (this.#isGoingOn) return;
    this.#isGoingOn = true;
    // All that was promised and can be kept is kept before.
    setImmediate(() => {
      this.#isGoingOn = false;
      const first = this.#first();
      if (first === null) return;
      this.#planned.delete(first);
      this.#nowMs = first.atMs;
      first.run();
      if (this.#planned.size > 0) this.#goOn();
    });
  }

  #first(): Planned | null {
    let first: Planned | null = null;
    this.#planned.ascend(null, (planned) => {
      first = planned;
      return false;
    });
    return first;
  }

  #next(): string {
    this.#count += 1;
    return this.#count.toString(16).padStart(12, "0");
  }
}

export const WELL: Fate = { effectAfterMs: 1, answerAfterMs: 1, givesUpAfterMs: 100 };

/** A simulated store and the nodes that are connected to it. */
export class StoreStage {
  readonly time = new IdleTime();
  readonly data: StoreData;
  readonly sightings: StoreSighting[] = [];
  readonly #fates: { operation: StoreOperation; fate: Partial<Fate> }[] = [];

  constructor(options: Omit<StoreDataOptions, "now"> = {}) {
    this.data = new StoreData({ ...options, now: this.time.now });
  }

  /** The next call of that kind does not go as usual. */
  befalls(operation: StoreOperation, fate: Partial<Fate>): void {
    this.#fates.push({ operation, fate });
  }

  connect(node: Incarnation, deliver: (run: () => void) => void = (run) => run()): SimStore {
    return new SimStore({
      data: this.data,
      node,
      time: this.time,
      deliver,
      latency: ({ operation }) => {
        const at = this.#fates.findIndex((told) => told.operation === operation);
        return { ...WELL, ...(at < 0 ? {} : this.#fates.splice(at, 1)[0]?.fate) };
      },
      sighted: (sighting) => void this.sightings.push(sighting),
    });
  }

  /** Somebody who owns all shards, over a connection of its own. */
  scene(node: Incarnation): Promise<Scene> {
    const store = this.connect(node);
    return Scene.open({ store, runtime: this.time, close: () => store.close() });
  }
}
