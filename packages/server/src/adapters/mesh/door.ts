import type { Logger } from "pino";
import type { Incarnation } from "../../domain/ids.ts";
import type { NodeProfile } from "../../ports/leases.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import { LEASE_WITHIN_MS } from "./limits.ts";
import { MeshTls, speaksTls } from "./mesh-tls.ts";

/** Credentials of this node, and the checks of other nodes. */
export interface DoorDependencies {
  node: Incarnation;
  /** Credential between nodes without a cluster secret; null: the mesh asks for none. */
  apiKey: string | null;
  /** Secrets of the cluster, the one in use first; none: nodes show each other the API key. */
  secrets: readonly string[];
  /** TLS of the links to other nodes; default: this node has no certificate and trusts none. */
  tls?: MeshTls;
  /** Checks the metadata `authorization` of a stream. */
  isAuthorized(authorization: string | undefined): boolean;
  /** Longest wait for a lease of a node that is not known here, in milliseconds; default 4_000. */
  leaseWithinMs?: number;
  runtime: Runtime;
  log: Logger;
}

/**
 * Decides which streams may speak for which node. Operators give a cluster secret to one node after the other: until
 * every living node has one, nodes without one are accepted by the API key, and only if the leases list them.
 */
export class Door {
  readonly secrets: readonly string[];
  readonly isAuthorized: DoorDependencies["isAuthorized"];
  readonly tls: MeshTls;
  readonly #deps: DoorDependencies;
  #living: ReadonlyMap<Incarnation, NodeProfile> = new Map();
  readonly #waiting = new Set<{ node: Incarnation; known: () => void }>();
  readonly #warned = new Set<Incarnation>();
  /** Functions that end the streams of nodes that were accepted without a proof. */
  readonly #unproven = new Set<() => void>();
  /** Functions that end the streams of nodes that were accepted without a certificate. */
  readonly #uncertified = new Set<() => void>();

  constructor(deps: DoorDependencies) {
    this.#deps = deps;
    this.secrets = deps.secrets;
    this.isAuthorized = deps.isAuthorized;
    this.tls = deps.tls ?? new MeshTls(null);
  }

  /** Records the nodes that live now; the list is complete. */
  meet(nodes: readonly NodeProfile[]): void {
    this.#living = new Map(nodes.map((node) => [node.incarnation, node]));
    for (const waiting of this.#waiting) if (this.#living.has(waiting.node)) waiting.known();
    for (const node of this.#warned) if (!this.#living.has(node)) this.#warned.delete(node);
    // A stream that was opened with an API key must not outlast the change to proofs.
    if (this.needsProof) for (const end of this.#unproven) end();
    if (this.needsCertificate) for (const end of this.#uncertified) end();
  }

  /**
   * Whether a node must have a certificate of this cluster. Operators give certificates to one node after the other:
   * until every living node speaks TLS, nodes without certificates are accepted.
   */
  get needsCertificate(): boolean {
    if (this.tls.cluster === null || this.#living.size === 0) return false;
    return [...this.#living.values()].every(({ address }) => speaksTls(address));
  }

  /**
   * Records that a stream without a certificate was accepted.
   * @param end called once every living node speaks TLS
   * @returns function to call when the stream is over
   */
  uncertified(end: () => void): () => void {
    this.#uncertified.add(end);
    return () => this.#uncertified.delete(end);
  }

  /** Whether a node must prove that it has a secret. */
  get needsProof(): boolean {
    if (this.secrets.length === 0 || this.#living.size === 0) return false;
    return [...this.#living.values()].every(({ hasSecret }) => hasSecret === true);
  }

  /** Metadata for a stream; null: none is sent. A node that must prove itself does not get the API key. */
  get authorization(): string | null {
    const { apiKey } = this.#deps;
    return apiKey === null || this.needsProof ? null : `Bearer ${apiKey}`;
  }

  /** A nonce for a stream. */
  nonce(): string {
    return this.#deps.runtime.uuid();
  }

  /**
   * Records that a node was accepted without a proof.
   * @param end called once every living node has a secret
   * @returns function to call when the stream is over
   */
  believed(node: Incarnation, end: () => void): () => void {
    this.#warnOf(node);
    this.#unproven.add(end);
    return () => this.#unproven.delete(end);
  }

  /**
   * Calls `tell` once with whether the leases list the node. The wait is needed because a new node may connect a moment
   * before its lease is known here.
   */
  whenKnown(node: Incarnation, tell: (isKnown: boolean) => void): Timer {
    if (node === this.#deps.node || this.#living.has(node)) {
      tell(true);
      return { cancel: () => undefined };
    }
    const end = (isKnown: boolean) => {
      cancel();
      tell(isKnown);
    };
    const waiting = { node, known: () => end(true) };
    const timer = this.#deps.runtime.setTimer(this.#deps.leaseWithinMs ?? LEASE_WITHIN_MS, () => end(false));
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
    this.#deps.log.warn(
      { node, address },
      "another node speaks without a secret of the cluster and is believed by its API key: set MAINSPRING_CLUSTER_SECRET there",
    );
  }
}
