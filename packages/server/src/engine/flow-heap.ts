import { Heap, type HeapNode } from "./heap.ts";

interface Flow<T> {
  readonly name: string;
  readonly items: Heap<T>;
  /** TIME: waits for its first item. TURN: has items that are due. HELD: takes no turns until the next `resume`. */
  place: "TIME" | "TURN" | "HELD";
  /** Position in the heap of the place; null: HELD, which has no order. */
  node: HeapNode<Flow<T>> | null;
}

/** Handle of an item, with which the item is removed or moved. */
export interface FlowNode<T> {
  readonly flow: Flow<T>;
  readonly node: HeapNode<T>;
}

/**
 * Items by time, in flows: a heap of flows over one heap for each flow. Flows with items that are due take turns, one item a turn, so that
 * a flow with very many items holds up no other flow. Within a flow the earliest item comes first.
 */
export class FlowHeap<T> {
  readonly #flows = new Map<string, Flow<T>>();
  readonly #byTime = new Heap<Flow<T>>();
  readonly #turns = new Heap<Flow<T>>();
  readonly #held = new Set<Flow<T>>();
  #turn = 0;
  #size = 0;

  /** Number of items of all flows. */
  get size(): number {
    return this.#size;
  }

  /** Number of items of a flow. */
  sizeOf(name: string): number {
    return this.#flows.get(name)?.items.size ?? 0;
  }

  push(name: string, at: number, tie: string, item: T): FlowNode<T> {
    const flow = this.#flows.get(name) ?? this.#newFlow(name);
    const node = flow.items.push(at, tie, item);
    this.#size++;
    this.#moved(flow);
    return { flow, node };
  }

  /** Does nothing if the item is not in the heap. */
  remove({ flow, node }: FlowNode<T>): void {
    if (node.index < 0) return;
    flow.items.remove(node);
    this.#size--;
    this.#moved(flow);
  }

  rekey({ flow, node }: FlowNode<T>, at: number): void {
    flow.items.rekey(node, at);
    this.#moved(flow);
  }

  /** First item of the flow whose turn it is, which stays in the heap; null: no item is due, except in flows that are held. */
  next(now: number): T | null {
    for (let first = this.#byTime.peek(); first !== undefined && first.key <= now; first = this.#byTime.peek())
      this.#takesTurns(first.item);
    for (let first = this.#turns.peek(); first !== undefined; first = this.#turns.peek()) {
      const head = first.item.items.peek() as HeapNode<T>;
      if (head.key <= now) {
        this.#turns.rekey(first, ++this.#turn);
        return head.item;
      }
      this.#waits(first.item);
    }
    return null;
  }

  /** Lets the item's flow take no turns until `resume`. */
  hold({ flow }: FlowNode<T>): void {
    this.#leave(flow);
    flow.place = "HELD";
    this.#held.add(flow);
  }

  resume(): void {
    for (const flow of this.#held) this.#takesTurns(flow);
  }

  /** Time of the earliest item of the flows that are not held; null: there is none. */
  earliest(): number | null {
    let at = this.#byTime.peek()?.key ?? Number.POSITIVE_INFINITY;
    for (const { item } of this.#turns.nodes()) at = Math.min(at, (item.items.peek() as HeapNode<T>).key);
    return at === Number.POSITIVE_INFINITY ? null : at;
  }

  #newFlow(name: string): Flow<T> {
    const flow: Flow<T> = { name, items: new Heap(), place: "HELD", node: null };
    this.#flows.set(name, flow);
    return flow;
  }

  /** Moves the flow after its first item may have changed. A flow with turns keeps them: `next` finds out that nothing is due. */
  #moved(flow: Flow<T>): void {
    const first = flow.items.peek();
    if (first === undefined) {
      this.#leave(flow);
      this.#flows.delete(flow.name);
    } else if (flow.place === "TIME" && flow.node !== null) {
      if (flow.node.key !== first.key) this.#byTime.rekey(flow.node, first.key);
    } else if (flow.place === "HELD" && !this.#held.has(flow)) this.#waits(flow);
  }

  #waits(flow: Flow<T>): void {
    this.#leave(flow);
    flow.place = "TIME";
    flow.node = this.#byTime.push((flow.items.peek() as HeapNode<T>).key, flow.name, flow);
  }

  #takesTurns(flow: Flow<T>): void {
    this.#leave(flow);
    flow.place = "TURN";
    flow.node = this.#turns.push(++this.#turn, flow.name, flow);
  }

  #leave(flow: Flow<T>): void {
    if (flow.node !== null) (flow.place === "TURN" ? this.#turns : this.#byTime).remove(flow.node);
    flow.node = null;
    this.#held.delete(flow);
  }
}
