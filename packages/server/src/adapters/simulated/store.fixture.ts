import type { Incarnation } from "../../domain/ids.ts";
import { type NewRequest, Scene } from "../../ports/conformance/store-scene.conformance.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { Fate, StoreFault, StoreOperation } from "./fate.ts";
import { SimStore } from "./sim-store.ts";
import { byText, SortedList } from "./sorted-list.ts";
import { StoreData, type StoreDataOptions } from "./store-data.ts";

const START_MS = Date.UTC(2030, 0, 15);

interface Planned {
  atMs: number;
  /** Number of the event, in the order of planning. */
  number: string;
  run: () => void;
}

/** A clock that moves only when all code waits for it. */
class IdleTime implements Runtime {
  readonly #planned = new SortedList<Planned>((a, b) => a.atMs - b.atMs || byText(a.number, b.number));
  #nowMs = START_MS;
  #count = 0;
  #isGoingOn = false;

  now = (): number => Math.floor(this.#nowMs);
  monotonicMs = (): number => this.#nowMs - START_MS;
  random = (): number => 0.5;
  /** As in real ids, the counter is before the last group, of which other ids are derived. */
  uuid = (): string => {
    const number = this.#next().slice(-6);
    return `01900000-0000-7${number.slice(0, 3)}-8${number.slice(3)}-000000000000`;
  };

  setTimer = (delayMs: number, run: () => void): Timer => {
    const planned = { atMs: this.#nowMs + delayMs, number: this.#next(), run };
    this.#planned.add(planned);
    this.#goOn();
    return { cancel: () => void this.#planned.delete(planned) };
  };

  /** Resolves when the time has passed. */
  pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.setTimer(ms, resolve));
  }

  #goOn(): void {
    if (this.#isGoingOn) return;
    this.#isGoingOn = true;
    // All promises that can settle have settled before.
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
  readonly faults: StoreFault[] = [];
  readonly #fates: { operation: StoreOperation; fate: Partial<Fate> }[] = [];

  constructor(options: Omit<StoreDataOptions, "now"> = {}) {
    this.data = new StoreData({ ...options, now: this.time.now });
  }

  /** Sets the fate of the next call of an operation. */
  befalls(operation: StoreOperation, fate: Partial<Fate>): void {
    this.#fates.push({ operation, fate });
  }

  /** See StoreUnderTest. */
  readonly addRequests = async (requests: readonly NewRequest[]): Promise<string[]> =>
    requests.map(({ body, idempotencyKey = null }) => {
      const id = this.time.uuid();
      const at = this.time.now();
      this.data.requests.add({ id, tenant: "default", createdAt: at, body, idempotencyKey, traceparent: null });
      this.data.tell({ kind: "REQUEST_ADDED", at, id });
      return id;
    });

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
      onFault: (fault) => void this.faults.push(fault),
    });
  }

  /** A node that owns all shards, over a connection of its own. */
  scene(node: Incarnation): Promise<Scene> {
    const store = this.connect(node);
    return Scene.open({ store, runtime: this.time, close: () => store.close() });
  }
}
