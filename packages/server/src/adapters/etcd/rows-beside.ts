import type { Logger } from "pino";
import type { Incarnation } from "../../domain/ids.ts";
import type { KnownNode, Leases, NodeLease, NodeProfile } from "../../ports/leases.ts";
import type { Runtime } from "../../ports/runtime.ts";

/** Interval in ms at which a node writes its row in the store and reads the rows of the others. */
const ROW_EVERY_MS = 1_000;

export interface RowsBesideOptions {
  /** Leases that count. */
  etcd: Leases;
  /** Leases in the store, where nodes with other settings and programs without etcd look. */
  store: Leases;
  runtime: Runtime;
  log: Logger;
}

/** Rows of a successful read of the store. */
interface Rows {
  nodes: readonly NodeLease[];
  /** Time of the answer, on the monotonic clock. */
  readMs: number;
}

/**
 * Leases in etcd, with a row of each node in the store beside them. So nodes find each other whatever lease service they use:
 *
 * - A node with a row and no lease in this etcd counts by its row. It keeps its lease in the store, or in another etcd.
 * - A node with a lease in this etcd and no row belongs to another store, or does not reach the store. It does not count.
 *
 * A node writes its row only after etcd has renewed its lease, so that the row of a node that lost etcd ends, too. All
 * nodes see the same, so a cluster can change its lease service one node after the other.
 */
export class RowsBeside implements Leases {
  readonly #options: RowsBesideOptions;
  #rows: Rows | null = null;
  /** Time of the last attempt to write the row, on the monotonic clock. */
  #triedMs = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> | null = null;
  #hasFailed = false;
  /** Nodes that had a lease in this etcd, which alone tells whether they live. */
  readonly #inEtcd = new Set<Incarnation>();
  /** Time since which a node with a lease in etcd has no row, on the monotonic clock. */
  readonly #rowlessSince = new Map<Incarnation, number>();
  readonly #warned = new Set<Incarnation>();

  constructor(options: RowsBesideOptions) {
    this.#options = options;
  }

  async renew(node: NodeProfile, ttlMs: number): Promise<NodeLease[]> {
    const { etcd, runtime } = this.#options;
    const leases = await etcd.renew(node, ttlMs);
    const isDue = this.#rows === null || runtime.monotonicMs() - this.#triedMs >= ROW_EVERY_MS;
    if (isDue && this.#writing === null) {
      this.#triedMs = runtime.monotonicMs();
      this.#writing = this.#writeRow(node, ttlMs).finally(() => {
        this.#writing = null;
      });
    }
    // The first list must have the nodes that only the store knows, because this node may own shards from now on.
    if (this.#rows === null) await this.#writing;
    return this.#merged(node.incarnation, leases, ttlMs);
  }

  async release(node: Incarnation): Promise<void> {
    await this.#writing;
    const { etcd, store } = this.#options;
    await Promise.all([etcd.release(node), store.release(node)]);
  }

  async list(): Promise<KnownNode[]> {
    const [leases, rows] = await Promise.all([this.#options.etcd.list(), this.#options.store.list()]);
    const known = new Set(leases.map(({ incarnation }) => incarnation));
    const others = rows.filter(({ incarnation }) => !known.has(incarnation) && !this.#inEtcd.has(incarnation));
    return [...leases.map((lease) => withDraining(lease, rows)), ...others];
  }

  async drain(node: Incarnation, isDraining: boolean): Promise<boolean> {
    const { etcd, store } = this.#options;
    const found = await Promise.all([etcd.drain(node, isDraining), store.drain(node, isDraining)]);
    return found.includes(true);
  }

  async #writeRow(node: NodeProfile, ttlMs: number): Promise<void> {
    const { store, runtime, log } = this.#options;
    try {
      const nodes = await store.renew(node, ttlMs);
      this.#rows = { nodes, readMs: runtime.monotonicMs() };
      this.#hasFailed = false;
    } catch (error) {
      // Nothing is known of the store without a first read, and this node must not own anything yet.
      if (this.#rows === null) throw error;
      if (!this.#hasFailed)
        log.warn({ err: error }, "the node could not write its row beside its lease in etcd, and tries again");
      this.#hasFailed = true;
    }
  }

  #merged(me: Incarnation, leases: readonly NodeLease[], ttlMs: number): NodeLease[] {
    const rows = this.#rows ?? { nodes: [], readMs: 0 };
    for (const { incarnation } of leases) this.#inEtcd.add(incarnation);
    const counted = leases.filter(({ incarnation }) => incarnation === me || this.#hasRow(incarnation, rows, ttlMs));
    const agoMs = Math.floor(this.#options.runtime.monotonicMs() - rows.readMs);
    const elsewhere = rows.nodes
      .filter(({ incarnation, renewedAgoMs }) => !this.#inEtcd.has(incarnation) && renewedAgoMs + agoMs <= ttlMs)
      .map((row) => ({ ...row, renewedAgoMs: row.renewedAgoMs + agoMs }));
    for (const { incarnation, address } of elsewhere)
      this.#warn(
        incarnation,
        { address },
        "a node of this cluster keeps its lease elsewhere: give all nodes the same MAINSPRING_LEASES and MAINSPRING_ETCD",
      );
    this.#forget([...leases, ...rows.nodes]);
    return [...counted.map((lease) => withDraining(lease, rows.nodes)), ...elsewhere];
  }

  /** Whether the node uses this store. A row may be missing for a moment, as after a crash of PostgreSQL. */
  #hasRow(node: Incarnation, { nodes, readMs }: Rows, ttlMs: number): boolean {
    if (nodes.some(({ incarnation }) => incarnation === node)) {
      this.#rowlessSince.delete(node);
      return true;
    }
    const sinceMs = this.#rowlessSince.get(node) ?? this.#options.runtime.monotonicMs();
    this.#rowlessSince.set(node, sinceMs);
    // Only a read that came later shows that the row is still missing.
    if (readMs - sinceMs < ttlMs) return true;
    this.#warn(
      node,
      { nodeId: node },
      "a node with a lease in etcd has no row in this store, so it does not count: it does not reach the store, or it has another one, " +
        "and another prefix in MAINSPRING_ETCD would keep the two clusters apart",
    );
    return false;
  }

  #warn(node: Incarnation, about: object, message: string): void {
    if (this.#warned.has(node)) return;
    this.#warned.add(node);
    this.#options.log.warn(about, message);
  }

  /** Forgets nodes that neither service lists. */
  #forget(listed: readonly NodeLease[]): void {
    const present = new Set(listed.map(({ incarnation }) => incarnation));
    const known = [this.#inEtcd, this.#rowlessSince, this.#warned];
    for (const nodes of known) for (const node of nodes.keys()) if (!present.has(node)) nodes.delete(node);
  }
}

/** A node drains if either service says so: a node with other settings asks the one that it knows. */
function withDraining<Node extends NodeLease>(lease: Node, rows: readonly NodeLease[]): Node {
  const row = rows.find(({ incarnation }) => incarnation === lease.incarnation);
  return row?.draining === true ? { ...lease, draining: true } : lease;
}
