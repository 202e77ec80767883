import { type Runtime, sleep } from "../runtime.ts";
import type { ClusterNode, ClusterStatus } from "./operator-types.ts";
import type { ReadOptions, Requests } from "./requests.ts";
import type { FigureSeries } from "./series-types.ts";

/** Interval of the requests that ask whether a drained node still has work, in milliseconds. */
const LOOK_EVERY_MS = 500;

/** Nodes of the cluster: their status, and how to drain them. Every method throws `MainspringError`. */
export class Cluster {
  readonly #requests: Requests;
  readonly #runtime: Runtime;

  constructor(requests: Requests, runtime: Runtime) {
    this.#requests = requests;
    this.#runtime = runtime;
  }

  /** Reads the nodes, the owners of all shards, and how far the work is behind. */
  status(options: ReadOptions = {}): Promise<ClusterStatus> {
    return this.#requests.get("/v1/cluster", options);
  }

  /**
   * Reads the last hour of the servers' figures, and which alerts would fire.
   * @throws {MainspringError} FORBIDDEN if the key is not one of operators and there are several tenants
   */
  series(options: ReadOptions = {}): Promise<FigureSeries> {
    return this.#requests.get("/v1/series", options);
  }

  /**
   * Drains a node: it hands its shards and workers to the other nodes, one after the other, until it has none. Its API
   * stays up.
   * @throws {MainspringError} NOT_FOUND if no living node has the id; CONFLICT if no other node could take the work
   */
  drain(nodeId: string, options: ReadOptions = {}): Promise<ClusterNode> {
    return this.#requests.send("POST", `${pathOf(nodeId)}/drain`, undefined, true, options);
  }

  /**
   * Waits until a drained node has neither shards nor workers.
   * @param options.timeoutMs longest wait in milliseconds; default 60_000
   * @returns the node as it is at the end of the wait, which still has some if the time is up; null: the node has left
   */
  async emptied(nodeId: string, options: ReadOptions & { timeoutMs?: number } = {}): Promise<ClusterNode | null> {
    const { timeoutMs = 60_000, ...reading } = options;
    const untilMs = this.#runtime.monotonicMs() + timeoutMs;
    for (;;) {
      const { nodes } = await this.status(reading);
      const node = nodes.find((one) => one.nodeId === nodeId && one.state !== "GONE") ?? null;
      const hasNothing = node === null || node.shards + (node.workers ?? 0) === 0;
      if (hasNothing || this.#runtime.monotonicMs() >= untilMs) return node;
      await sleep(this.#runtime, LOOK_EVERY_MS, options.signal);
      options.signal?.throwIfAborted();
    }
  }

  /** Ends the drain of a node, which takes shards and workers again. */
  undrain(nodeId: string, options: ReadOptions = {}): Promise<ClusterNode> {
    return this.#requests.send("POST", `${pathOf(nodeId)}/undrain`, undefined, true, options);
  }
}

function pathOf(nodeId: string): string {
  return `/v1/cluster/nodes/${encodeURIComponent(nodeId)}`;
}
