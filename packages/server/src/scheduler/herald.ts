import type { Bus } from "../ports/bus.ts";
import type { Demand, OwnedShard } from "../ports/messages.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";

/** Whoever missed it, or has only just come, hears it within this. */
const REPEAT_EVERY_MS = 1_000;

/** Tells gateways and apis what this node owns: at once when it changes, and again and again, for messages may be lost. */
export class Herald {
  readonly #bus: Bus;
  readonly #runtime: Runtime;
  readonly #currentDemand: () => Demand[];
  #term = 0;
  #shards: readonly OwnedShard[] = [];
  #timer: Timer | null = null;
  #stopped = false;

  constructor(bus: Bus, runtime: Runtime, currentDemand: () => Demand[]) {
    this.#bus = bus;
    this.#runtime = runtime;
    this.#currentDemand = currentDemand;
  }

  announce(term: number, shards: readonly OwnedShard[]): void {
    this.#term = term;
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
    const [term, shards] = [this.#term, this.#shards];
    // Gateways record the epochs before they answer, so nothing of an older owner is delivered after that.
    if (shards.length > 0) {
      const demand = this.#currentDemand();
      for (const node of this.#bus.nodes("gateway")) {
        this.#bus.send({ node, role: "gateway" }, { kind: "OWNER", term, shards, demand });
      }
    }
    const apis = new Set([...this.#bus.nodes("api"), this.#bus.node]);
    for (const node of apis) this.#bus.send({ node, role: "api" }, { kind: "OWNER", term, shards });
    this.#timer = this.#runtime.setTimer(REPEAT_EVERY_MS, () => this.#tellAll());
  }
}
