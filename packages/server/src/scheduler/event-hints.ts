import type { Bus } from "../ports/bus.ts";
import type { Runtime } from "../ports/runtime.ts";

/** Shortest interval of two hints of a node, in milliseconds. */
const HINT_EVERY_MS = 50;

/**
 * Tells the api nodes that there are new lifecycle events, so that they read them soon. A lost hint costs a follower half a
 * second.
 */
export class EventHints {
  readonly #bus: Bus;
  readonly #runtime: Runtime;
  #sentMs = Number.NEGATIVE_INFINITY;
  #isDue = false;

  constructor(bus: Bus, runtime: Runtime) {
    this.#bus = bus;
    this.#runtime = runtime;
  }

  /** Commits with events are durable. */
  readonly written = (): void => {
    if (this.#isDue) return;
    const waitMs = this.#sentMs + HINT_EVERY_MS - this.#runtime.monotonicMs();
    if (waitMs <= 0) return this.#send();
    this.#isDue = true;
    this.#runtime.setTimer(waitMs, () => this.#send());
  };

  #send(): void {
    this.#isDue = false;
    this.#sentMs = this.#runtime.monotonicMs();
    for (const node of this.#bus.nodes("api")) this.#bus.send({ node, role: "api" }, { kind: "EVENTS_WRITTEN" });
  }
}
