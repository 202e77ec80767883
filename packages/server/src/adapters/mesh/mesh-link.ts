import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, type ClientDuplexStream, type ClientOptions, Metadata, type StatusObject } from "@grpc/grpc-js";
import {
  MESH_PROTOCOL_VERSION,
  type MeshMessage,
  MeshMessageSchema,
  type MeshReply,
  MeshReplySchema,
  MeshService,
} from "@mainspring/proto";
import type { Incarnation } from "../../domain/ids.ts";
import type { Settings } from "./alike-settings.ts";
import type { Door } from "./door.ts";
import { PART_MAX_BYTES, UNSENT_MAX_BYTES } from "./limits.ts";
import { isProven, proofsOf } from "./proofs.ts";

export const PATH = `/${MeshService.typeName}/${MeshService.method.connect.name}`;

const CHANNEL: ClientOptions = {
  // The pings detect a peer that vanished without closing; the leases show it sooner.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  // Each connection finds out by itself whether the peer is reachable, so the channel has no backoff of its own and
  // shares none with an earlier channel.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_retries": 0,
  "grpc.initial_reconnect_backoff_ms": 60_000,
};

export interface LinkTo {
  from: Incarnation;
  to: Incarnation;
  /** Feature level of the sender. */
  level: number;
  /** Address of the peer, as its lease has it: host:port, or https://host:port where it speaks TLS. */
  address: string;
  door: Door;
  /** Settings of the sender that must be the same on all nodes. */
  alike: Settings;
}

export interface LinkEvents {
  /** Called when the right node has accepted the stream. */
  opened(): void;
  /** Called when there is room again after the stream was congested. */
  drained(): void;
  /** Called once, when the stream has ended for any reason. */
  closed(reason: string): void;
}

/** One stream to another node. */
export class MeshLink {
  readonly #client: Client;
  readonly #call: ClientDuplexStream<MeshMessage, MeshReply>;
  readonly #events: LinkEvents;
  readonly #to: LinkTo;
  readonly #nonce: string;
  /** Whether the other node has proved that it has a secret of the cluster. */
  #isProven = false;
  #unsentBytes = 0;
  /** Reason why this end closed the stream; null: it did not. */
  #fault: string | null = null;
  #isOver = false;

  constructor(linkTo: LinkTo, events: LinkEvents) {
    const { from, to, level, address, door, alike } = linkTo;
    this.#to = linkTo;
    this.#events = events;
    this.#nonce = door.secrets.length > 0 ? door.nonce() : "";
    const metadata = new Metadata();
    const { authorization } = door;
    if (authorization !== null) metadata.set("authorization", authorization);
    const target = door.tls.to(address);
    this.#client = new Client(target.address, target.credentials, CHANNEL);
    this.#call = this.#client.makeBidiStreamRequest(PATH, serialize, deserialize, metadata);
    this.#call.on("data", (reply: MeshReply) => this.#hear(reply));
    // The status event always follows and says the same. Without this listener, Node would throw the error.
    this.#call.on("error", () => undefined);
    this.#call.on("status", ({ code, details }: StatusObject) =>
      this.#end(this.#fault ?? (details || `gRPC status ${code}`)),
    );
    const hello = { protocolVersion: MESH_PROTOCOL_VERSION, from, to, featureLevel: level, nonce: this.#nonce, alike };
    this.#call.write(create(MeshMessageSchema, { hello }));
  }

  isCongested(): boolean {
    return this.#unsentBytes >= UNSENT_MAX_BYTES;
  }

  send(packet: Buffer): void {
    for (let at = 0; at < packet.length; at += PART_MAX_BYTES) {
      const part = packet.subarray(at, at + PART_MAX_BYTES);
      this.#unsentBytes += part.length;
      const message = create(MeshMessageSchema, { part, more: at + part.length < packet.length });
      this.#call.write(message, () => this.#wasTaken(part.length));
    }
  }

  /** Ends the stream once everything that was sent has arrived. Nothing may be sent after it. */
  finish(): void {
    this.#call.end();
  }

  /** Closes the stream at once; messages on their way may be lost. */
  close(): void {
    this.#call.cancel();
  }

  #hear({ challenge, welcome }: MeshReply): void {
    const { from, to, door } = this.#to;
    if (challenge !== undefined) {
      const encounter = { from, to, fromNonce: this.#nonce, toNonce: challenge.nonce };
      this.#isProven = isProven(door.secrets, "to", encounter, challenge.proofs);
      if (!this.#isProven) return this.#giveUp("the node there has another MAINSPRING_CLUSTER_SECRET");
      this.#call.write(create(MeshMessageSchema, { proof: { proofs: proofsOf(door.secrets, "from", encounter) } }));
    } else if (welcome !== undefined) {
      if (!this.#isProven && door.needsProof) return this.#giveUp("the node there proved no MAINSPRING_CLUSTER_SECRET");
      this.#events.opened();
    }
  }

  #giveUp(fault: string): void {
    this.#fault = fault;
    this.#call.cancel();
  }

  /** Records that bytes were handed to the network, which flow control allows only as the other node reads. */
  #wasTaken(bytes: number): void {
    const wasCongested = this.isCongested();
    this.#unsentBytes -= bytes;
    if (wasCongested && !this.isCongested() && !this.#isOver) this.#events.drained();
  }

  #end(reason: string): void {
    this.#isOver = true;
    this.#client.close();
    this.#events.closed(reason);
  }
}

function serialize(message: MeshMessage): Buffer {
  const bytes = toBinary(MeshMessageSchema, message);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function deserialize(bytes: Buffer): MeshReply {
  return fromBinary(MeshReplySchema, bytes);
}
