import type { Bus } from "../../ports/bus.ts";
import type { OwnedShard } from "../../ports/messages.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { Demand } from "../../ports/share-messages.ts";

/** Interval in ms of the repeated announcement, for nodes that missed it or have just started. */
const REPEAT_EVERY_MS = 1_000;

/**
 * Announces to gateways and apis which shards this node owns: at once after a change, and repeatedly, because messages
 * may be lost.
 */
export class OwnerAnnouncer {
  readonly #bus: Bus;
  readonly #runtime: Runtime;
  readonly #before: () => Demand[];
  #term = 0;
  #life = 0;
  #shards: readonly OwnedShard[] = [];
  #timer: Timer | null = null;
  #stopped = false;

  /** @param before called before each announcement; returns the present demand */
  constructor(bus: Bus, runtime: Runtime, before: () => Demand[]) {
    this.#bus = bus;
    this.#runtime = runtime;
    this.#before = before;
  }

  /** @param life the term in which the machine began */
  announce(term: number, life: number, shards: readonly OwnedShard[]): void {
    this.#term = term;
    this.#life = life;
    this.#shards = shards;
    if (!this.#stopped) this.#tellAll();
  }

  demand(demand: readonly Demand[]): void {
    const message = { kind: "DEMAND", term: this.#term, demand } as const;
    for (const node of this.#bus.nodes("gateway")) this.#bus.send({ node, role: "gateway" }, message);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #tellAll(): void {
    this.#timer?.cancel();
    const demand = this.#before();
    const [term, life, shards] = [this.#term, this.#life, this.#shards];
    // Gateways record the epochs before they answer, so nothing of an older owner is delivered after that.
    if (shards.length > 0) {
      for (const node of this.#bus.nodes("gateway")) {
        this.#bus.send({ node, role: "gateway" }, { kind: "OWNER", term, life, shards, demand });
      }
    }
    // Other schedulers get it too, because their buses record the owners.
    const apis = new Set([...this.#bus.nodes("api"), ...this.#bus.nodes("scheduler"), this.#bus.node]);
    for (const node of apis) this.#bus.send({ node, role: "api" }, { kind: "OWNER", term, shards });
    this.#timer = this.#runtime.setTimer(REPEAT_EVERY_MS, () => this.#tellAll());
  }
}
