import type { ClusterNode, ClusterStatus } from "./operator-types.ts";
import type { ReadOptions, Requests } from "./requests.ts";
import { type Runtime, sleep } from "./runtime.ts";

/** How often it is asked whether a node has given everything away. */
const LOOK_EVERY_MS = 500;

/** The servers, and what each of them has. Every method throws `MainspringError`. */
export class Cluster {
  readonly #requests: Requests;
  readonly #runtime: Runtime;

  constructor(requests: Requests, runtime: Runtime) {
    this.#requests = requests;
    this.#runtime = runtime;
  }

  /** The nodes, the owners of all shards, and how far they are behind. */
  status(options: ReadOptions = {}): Promise<ClusterStatus> {
    return this.#requests.get("/v1/cluster", options);
  }

  /**
   * Has a node give its shards and workers to the others, one after the other; done when it has none. Its api goes on.
   * @throws {MainspringError} NOT_FOUND where no such node lives; CONFLICT where nobody could take what it has
   */
  drain(nodeId: string, options: ReadOptions = {}): Promise<ClusterNode> {
    return this.#requests.send("POST", `${pathOf(nodeId)}/drain`, undefined, true, options);
  }

  /**
   * Waits until a node that is drained has neither shards nor workers.
   * @param options.timeoutMs how long at most; default 60_000
   * @returns it as it is then; where the time was up it still has some. null: it is not there any more
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

  /** Has it take shards and workers again. */
  undrain(nodeId: string, options: ReadOptions = {}): Promise<ClusterNode> {
    return this.#requests.send("POST", `${pathOf(nodeId)}/undrain`, undefined, true, options);
  }
}

function pathOf(nodeId: string): string {
  return `/v1/cluster/nodes/${encodeURIComponent(nodeId)}`;
}
