import type { ExecutionId, Incarnation } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { RowChange } from "../ports/store.ts";

/** Nodes to notify when an execution is final. The notice is a hint: a waiter also polls the store. */
export class Watchers {
  readonly #bus: Bus;
  readonly #watching = new Map<ExecutionId, Map<Incarnation, number>>();

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  watch(id: ExecutionId, node: Incarnation): void {
    let nodes = this.#watching.get(id);
    if (nodes === undefined) this.#watching.set(id, (nodes = new Map()));
    nodes.set(node, (nodes.get(node) ?? 0) + 1);
  }

  unwatch(id: ExecutionId, node: Incarnation): void {
    const nodes = this.#watching.get(id);
    const count = nodes?.get(node);
    if (nodes === undefined || count === undefined) return;
    if (count > 1) nodes.set(node, count - 1);
    else nodes.delete(node);
    if (nodes.size === 0) this.#watching.delete(id);
  }

  /** Notifies the nodes that watch an execution whose final change is durable. */
  committed(change: RowChange): void {
    if (change.queue !== "NONE" || this.#watching.size === 0) return;
    const nodes = this.#watching.get(change.id);
    if (nodes === undefined) return;
    this.#watching.delete(change.id);
    for (const node of nodes.keys()) {
      this.#bus.send({ node, role: "api" }, { kind: "FINAL", executionId: change.id, state: change.state });
    }
  }
}
