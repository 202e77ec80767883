/** Handle of an item in a heap, with which the item is removed or moved. */
export interface HeapNode<T> {
  key: number;
  /** Orders nodes with equal keys. */
  second: number;
  /** Orders nodes with equal keys and equal `second`. */
  tie: string;
  item: T;
  /** -1: not in a heap. */
  index: number;
}

/** A binary heap whose items can be removed from the middle; smallest (key, second, tie) first. */
export class Heap<T> {
  readonly #nodes: HeapNode<T>[] = [];

  get size(): number {
    return this.#nodes.length;
  }

  peek(): HeapNode<T> | undefined {
    return this.#nodes[0];
  }

  push(key: number, tie: string, item: T, second = 0): HeapNode<T> {
    const node = { key, second, tie, item, index: this.#nodes.length };
    this.#nodes.push(node);
    this.#rise(node);
    return node;
  }

  pop(): HeapNode<T> | undefined {
    const top = this.#nodes[0];
    if (top !== undefined) this.remove(top);
    return top;
  }

  /** Does nothing if the node is not in a heap. */
  remove(node: HeapNode<T>): void {
    if (node.index < 0) return;
    const last = this.#nodes.pop() as HeapNode<T>;
    if (last !== node) {
      this.#put(last, node.index);
      this.#settle(last);
    }
    node.index = -1;
  }

  rekey(node: HeapNode<T>, key: number, tie: string = node.tie, second: number = node.second): void {
    node.key = key;
    node.second = second;
    node.tie = tie;
    this.#settle(node);
  }

  /** All nodes, in no order. */
  nodes(): readonly HeapNode<T>[] {
    return this.#nodes;
  }

  #settle(node: HeapNode<T>): void {
    this.#rise(node);
    this.#sink(node);
  }

  #rise(node: HeapNode<T>): void {
    let index = node.index;
    while (index > 0) {
      const parent = this.#nodes[(index - 1) >> 1] as HeapNode<T>;
      if (!before(node, parent)) break;
      this.#put(parent, index);
      index = (index - 1) >> 1;
    }
    this.#put(node, index);
  }

  #sink(node: HeapNode<T>): void {
    const nodes = this.#nodes;
    let index = node.index;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= nodes.length) break;
      if (child + 1 < nodes.length && before(nodes[child + 1] as HeapNode<T>, nodes[child] as HeapNode<T>)) child++;
      if (!before(nodes[child] as HeapNode<T>, node)) break;
      this.#put(nodes[child] as HeapNode<T>, index);
      index = child;
    }
    this.#put(node, index);
  }

  #put(node: HeapNode<T>, index: number): void {
    this.#nodes[index] = node;
    node.index = index;
  }
}

function before(a: HeapNode<unknown>, b: HeapNode<unknown>): boolean {
  if (a.key !== b.key) return a.key < b.key;
  return a.second < b.second || (a.second === b.second && a.tie < b.tie);
}
