import type { Logger } from "pino";
import type { Incarnation } from "../../domain/ids.ts";
import type { NodeProfile } from "../../ports/leases.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import { LEASE_WITHIN_MS } from "./limits.ts";

/** Credentials of this node, and the checks of other nodes. */
export interface DoorParts {
  node: Incarnation;
  /** Credential between nodes without a cluster secret; null: the mesh asks for none. */
  apiKey: string | null;
  /** Secrets of the cluster, the one in use first; none: nodes show each other the API key. */
  secrets: readonly string[];
  /** Judges the metadata `authorization` of a stream. */
  isAuthorized(authorization: string | undefined): boolean;
  /** How long a node is waited for whose lease is not known here; default 4_000. */
  leaseWithinMs?: number;
  runtime: Runtime;
  log: Logger;
}

/**
 * Decides who may speak as which node. A secret is given to one node after the other: until every living node has one, nodes
 * without one are believed by the API key, and only as a node that stands in the leases.
 */
export class Door {
  readonly secrets: readonly string[];
  readonly isAuthorized: DoorParts["isAuthorized"];
  readonly #parts: DoorParts;
  #living: ReadonlyMap<Incarnation, NodeProfile> = new Map();
  readonly #waiting = new Set<{ node: Incarnation; known: () => void }>();
  readonly #warned = new Set<Incarnation>();
  /** Ends of the streams of nodes that were believed without a proof. */
  readonly #unproven = new Set<() => void>();

  constructor(parts: DoorParts) {
    this.#parts = parts;
    this.secrets = parts.secrets;
    this.isAuthorized = parts.isAuthorized;
  }

  /** These nodes live, all of them. */
  meet(nodes: readonly NodeProfile[]): void {
    this.#living = new Map(nodes.map((node) => [node.incarnation, node]));
    for (const waiting of this.#waiting) if (this.#living.has(waiting.node)) waiting.known();
    for (const node of this.#warned) if (!this.#living.has(node)) this.#warned.delete(node);
    // A stream that was opened by an API key before must not outlast the change.
    if (this.needsProof) for (const end of this.#unproven) end();
  }

  /** Whether a node has to prove that it has a secret. */
  get needsProof(): boolean {
    if (this.secrets.length === 0 || this.#living.size === 0) return false;
    return [...this.#living.values()].every(({ hasSecret }) => hasSecret === true);
  }

  /** For the metadata of a stream; null: nothing is shown. A node that has to prove itself is not shown the key. */
  get authorization(): string | null {
    const { apiKey } = this.#parts;
    return apiKey === null || this.needsProof ? null : `Bearer ${apiKey}`;
  }

  /** A nonce for a stream. */
  nonce(): string {
    return this.#parts.runtime.uuid();
  }

  /**
   * A node was believed without a proof.
   * @param end called once every living node has a secret
   * @returns to be called when the stream is over
   */
  believed(node: Incarnation, end: () => void): () => void {
    this.#warnOf(node);
    this.#unproven.add(end);
    return () => this.#unproven.delete(end);
  }

  /** Tells once whether the node stands in the leases; a new node may be a moment ahead of what is known here. */
  whenKnown(node: Incarnation, tell: (isKnown: boolean) => void): Timer {
    if (node === this.#parts.node || this.#living.has(node)) {
      tell(true);
      return { cancel: () => undefined };
    }
    const end = (isKnown: boolean) => {
      cancel();
      tell(isKnown);
    };
    const waiting = { node, known: () => end(true) };
    const timer = this.#parts.runtime.setTimer(this.#parts.leaseWithinMs ?? LEASE_WITHIN_MS, () => end(false));
    const cancel = () => {
      this.#waiting.delete(waiting);
      timer.cancel();
    };
    this.#waiting.add(waiting);
    return { cancel };
  }

  #warnOf(node: Incarnation): void {
    if (this.secrets.length === 0 || this.#warned.has(node)) return;
    this.#warned.add(node);
    const address = this.#living.get(node)?.address;
    this.#parts.log.warn(
      { node, address },
      "another node speaks without a secret of the cluster and is believed by its API key: set MAINSPRING_CLUSTER_SECRET there",
    );
  }
}
