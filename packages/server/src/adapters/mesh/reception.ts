import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { status } from "@grpc/grpc-js";
import {
  MESH_PROTOCOL_VERSION,
  type MeshHello,
  type MeshMessage,
  type MeshReply,
  MeshReplySchema,
} from "@mainspring/proto";
import { areAdjacent, FIRST_LEVEL } from "../../domain/cluster/feature-level.ts";
import type { Incarnation } from "../../domain/ids.ts";
import type { Timer } from "../../ports/runtime.ts";
import type { Settings } from "./alike-settings.ts";
import type { Door } from "./door.ts";
import type { PeerProof } from "./node-identity.ts";
import { type Encounter, isProven, proofsOf } from "./proofs.ts";

const NAME_MAX_CHARS = 256;
const NONCE_MAX_CHARS = 128;

export interface ReceptionDependencies {
  node: Incarnation;
  /** Feature level of this node. */
  level: number;
  door: Door;
  /** Proof of the other end by its certificate. */
  shown: PeerProof;
  /** Metadata `authorization` of the stream. */
  authorization: string | undefined;
  reply(reply: MeshReply): void;
  refuse(code: keyof typeof status, details: string): void;
  /** Called when the other end has proved to be the node `from`. @param alike its settings that must be the same on all nodes */
  opened(from: Incarnation, alike: Settings): void;
}

/** Handshake at one end of a stream, until the other end has proved that it is a node or is refused. */
export class Reception {
  readonly #deps: ReceptionDependencies;
  #encounter: Encounter | null = null;
  #alike: Settings = {};
  #wait: Timer | null = null;
  #forget: () => void = () => undefined;
  #forgetUncertified: () => void = () => undefined;

  constructor(deps: ReceptionDependencies) {
    this.#deps = deps;
  }

  hear({ hello, proof }: MeshMessage): void {
    if (this.#wait !== null) return this.#deps.refuse("INVALID_ARGUMENT", "nothing is said before the welcome");
    if (this.#encounter !== null) return this.#judge(this.#encounter, proof?.proofs ?? []);
    if (hello === undefined) return this.#deps.refuse("INVALID_ARGUMENT", "hello comes first");
    const fault = helloFault(hello, this.#deps) ?? this.#certificateFault();
    if (fault !== null) return this.#deps.refuse(...fault);
    this.#greet(hello);
  }

  /** Ends the handshake because the stream is over. */
  end(): void {
    this.#wait?.cancel();
    this.#forget();
    this.#forgetUncertified();
  }

  #greet({ from, nonce, alike }: MeshHello): void {
    this.#alike = alike;
    const { node, door, authorization, refuse } = this.#deps;
    if (nonce !== "" && door.secrets.length > 0) {
      this.#encounter = { from, to: node, fromNonce: nonce, toNonce: door.nonce() };
      const proofs = proofsOf(door.secrets, "to", this.#encounter);
      return this.#reply({ challenge: { nonce: this.#encounter.toNonce, proofs } });
    }
    if (door.needsProof) return refuse("UNAUTHENTICATED", NEEDS_SECRET);
    if (!door.isAuthorized(authorization)) return refuse("UNAUTHENTICATED", NEEDS_KEY);
    this.#findLease(from, () => {
      this.#forget = door.believed(from, () => refuse("UNAUTHENTICATED", NEEDS_SECRET));
    });
  }

  /** @returns reason why the other end is refused for its certificate; null: it is not */
  #certificateFault(): [keyof typeof status, string] | null {
    const { door, shown, refuse } = this.#deps;
    const { cluster, hasExpired } = shown;
    const own = door.tls.cluster;
    if (own === null) return null;
    if (cluster !== null && cluster !== own) return ["UNAUTHENTICATED", `this is a node of the cluster ${own}`];
    const fault = hasExpired ? EXPIRED : NEEDS_CERTIFICATE;
    if (cluster === null && door.needsCertificate) return ["UNAUTHENTICATED", fault];
    if (cluster === null) this.#forgetUncertified = door.uncertified(() => refuse("UNAUTHENTICATED", fault));
    return null;
  }

  #judge(encounter: Encounter, proofs: readonly Uint8Array[]): void {
    const { door, refuse } = this.#deps;
    if (!isProven(door.secrets, "from", encounter, proofs)) return refuse("UNAUTHENTICATED", OTHER_SECRET);
    this.#findLease(encounter.from, () => undefined);
  }

  #findLease(from: Incarnation, found: () => void): void {
    const { node, level, door, refuse, opened } = this.#deps;
    const wait = door.whenKnown(from, (isKnown) => {
      if (!isKnown) return refuse("PERMISSION_DENIED", `no lease says that a node ${from} lives`);
      // A node that tries its own address has no messages for itself.
      if (from !== node) found();
      this.#reply({ welcome: { protocolVersion: MESH_PROTOCOL_VERSION, featureLevel: level } });
      opened(from, this.#alike);
    });
    this.#wait = wait;
  }

  #reply(reply: MessageInitShape<typeof MeshReplySchema>): void {
    this.#deps.reply(create(MeshReplySchema, reply));
  }
}

const NEEDS_SECRET =
  "every node of this cluster proves that it has the cluster's secret: set MAINSPRING_CLUSTER_SECRET to the same value";
const OTHER_SECRET =
  "the proof was made with another secret: set MAINSPRING_CLUSTER_SECRET, or MAINSPRING_CLUSTER_SECRET_ALSO, to the same value on both nodes";
const NEEDS_CERTIFICATE =
  "every node of this cluster has a certificate for nodes: set MAINSPRING_TLS_CERT, MAINSPRING_TLS_KEY and MAINSPRING_TLS_CA";
const EXPIRED =
  "the certificate by which this node proves itself has expired: renew the file of MAINSPRING_TLS_CERT or MAINSPRING_MESH_CERT";
const NEEDS_KEY = "send the metadata authorization: Bearer <key>";

/** @returns reason why the hello is invalid or not for this node; null: it is valid */
function helloFault(hello: MeshHello, { node, level }: ReceptionDependencies): [keyof typeof status, string] | null {
  const { from, to, nonce, protocolVersion } = hello;
  if (from === "" || from.length > NAME_MAX_CHARS) return ["INVALID_ARGUMENT", "hello: from must name a node"];
  if (nonce.length > NONCE_MAX_CHARS)
    return ["INVALID_ARGUMENT", `hello: the nonce may have ${NONCE_MAX_CHARS} characters`];
  if (protocolVersion !== MESH_PROTOCOL_VERSION) {
    return ["FAILED_PRECONDITION", `this node speaks version ${MESH_PROTOCOL_VERSION} of the mesh`];
  }
  // A hello without a level comes from a release without levels.
  const theirs = hello.featureLevel || FIRST_LEVEL;
  if (!areAdjacent(level, theirs)) {
    return ["FAILED_PRECONDITION", `this node has feature level ${level}, and ${theirs} is too far from it`];
  }
  return to === node ? null : ["NOT_FOUND", `this is ${node}, and not ${to.slice(0, NAME_MAX_CHARS)}`];
}
