import type { Logger } from "pino";
import { isOn } from "../../domain/cluster/feature-level.ts";
import type { Incarnation } from "../../domain/ids.ts";
import type { Bus, Role } from "../../ports/bus.ts";
import type { NodeProfile } from "../../ports/leases.ts";
import { Mailboxes } from "../../ports/mailboxes.ts";
import { atEndOfTurn, type Runtime } from "../../ports/runtime.ts";
import { Turns } from "../../ports/turns.ts";
import { AlikeSettings, type Settings } from "./alike-settings.ts";
import { Door, type DoorDependencies } from "./door.ts";
import { MeshServer } from "./mesh-service.ts";
import type { Letter } from "./packet.ts";
import { type Losses, Peer } from "./peer.ts";
import { reach } from "./reach.ts";
import type { BusReading } from "./schemas/to-bus.ts";

/** Longest pause before the renewal of a link, in milliseconds. */
const RENEWAL_PAUSE_MS = 1_000;

export interface MeshDependencies extends DoorDependencies {
  /** Feature level of this node; the mesh refuses nodes that are more than one level away. */
  level: number;
  /** Settings that must be the same on all nodes, without secrets; default: none. */
  alike?: Settings;
  runtime: Runtime;
  log: Logger;
}

/** Bus between the nodes of a cluster, over gRPC. Within a node, the bus delivers in order and once. */
export class MeshBus implements Bus {
  readonly node: Incarnation;
  /** Service that this node's gRPC server must offer. */
  readonly service: MeshServer;
  readonly #deps: MeshDependencies;
  readonly #door: Door;
  readonly #alike: AlikeSettings;
  readonly #mailboxes: Mailboxes;
  readonly #peers = new Map<Incarnation, Peer>();
  readonly #losses: Losses = { messages: 0 };
  readonly #turns: Turns;
  /** Number of changes of certificates. */
  #changes = 0;
  #isRenewing = false;
  #hearReading: (from: Incarnation, reading: BusReading) => void = () => undefined;
  #isClosed = false;

  constructor(deps: MeshDependencies) {
    this.#deps = deps;
    this.node = deps.node;
    this.#door = new Door(deps);
    this.#alike = new AlikeSettings(deps.alike ?? {}, deps.log);
    const { node, level, runtime, log } = deps;
    this.#turns = new Turns(runtime);
    this.#mailboxes = new Mailboxes((run) => atEndOfTurn(runtime, run));
    this.#door.tls.onChange(() => void this.#renewLinks());
    this.service = new MeshServer({
      ...{ node, level, door: this.#door, runtime, log },
      turns: { small: new Turns(runtime), large: new Turns(runtime) },
      welcomed: (from, alike) => this.#alike.hear(from, alike),
      receive: (from, letters) => this.receive(from, letters),
    });
  }

  ownerOf: Bus["ownerOf"] = (shard) => this.#mailboxes.ownerOf(shard);

  listen: Bus["listen"] = (role, receive) => this.#mailboxes.listen(role, receive);

  nodes = (role: Role): Incarnation[] => {
    const others = [...this.#peers].filter(([, peer]) => peer.canBe(role)).map(([node]) => node);
    return this.#mailboxes.hasListener(role) ? [this.node, ...others] : others;
  };

  connected = (): Incarnation[] => {
    const others = [...this.#peers].filter(([, peer]) => peer.isOpen).map(([node]) => node);
    return [this.node, ...others];
  };

  send: Bus["send"] = ({ node, role }, message) => {
    if (node === this.node) this.#mailboxes.put(node, role, message);
    else if (this.#peers.has(node)) this.#peers.get(node)?.send({ role, message } as Letter);
    // A message to an unknown node is lost, as on a network.
    else this.#losses.messages++;
  };

  /**
   * Checks whether other nodes will reach this node at an address, once its server listens.
   * @returns null: they will; else a description of what answers there instead
   */
  reachesItself(address: string): Promise<string | null> {
    const { node, level, runtime } = this.#deps;
    return reach({ from: node, to: node, level, address, door: this.#door, alike: this.#alike.own }, runtime);
  }

  /** Number of living nodes whose settings differ from those of this node although they must be the same. */
  get differing(): number {
    return this.#alike.differing;
  }

  /** Delivers letters of another node, whichever way they came. */
  receive(from: Incarnation, letters: readonly Letter[]): void {
    for (const letter of letters) {
      if (letter.role === "bus") this.#hearReading(from, letter.message);
      else this.#mailboxes.put(from, letter.role, letter.message);
    }
  }

  /** Calls `hear` with each announcement of another node that it reads a bus on Kafka. At most one listener. */
  onReading(hear: (from: Incarnation, reading: BusReading) => void): void {
    this.#hearReading = hear;
  }

  /** Announces to all nodes that understand it what this node reads from Kafka. */
  announce(reading: BusReading): void {
    for (const peer of this.#peers.values())
      if (peer.isOpen && isOn("KAFKA_BUS", peer.level)) peer.send({ role: "bus", message: reading });
  }

  /** Whether the leases list the other node. */
  knows(node: Incarnation): boolean {
    return this.#peers.has(node);
  }

  /** Load of the connections to other nodes; `dropped` counts messages since the start. */
  load(): { connections: number; dropped: number; waitingBytes: number } {
    const peers = [...this.#peers.values()];
    return {
      connections: peers.filter(({ isOpen }) => isOpen).length,
      dropped: this.#losses.messages,
      waitingBytes: peers.reduce((sum, peer) => sum + peer.waitingBytes, 0),
    };
  }

  /** Records the nodes that live now; the list is complete. Call this whenever the leases were read. */
  meet(nodes: readonly NodeProfile[]): void {
    if (this.#isClosed) return;
    this.#alike.meet(nodes);
    this.#door.meet(nodes);
    const living = new Set(nodes.map(({ incarnation }) => incarnation));
    for (const [node, peer] of this.#peers) {
      if (living.has(node)) continue;
      peer.close();
      this.#peers.delete(node);
    }
    for (const profile of nodes) if (profile.incarnation !== this.node) this.#meet(profile);
  }

  /** Closes all connections: the bus neither sends nor receives any more. */
  close(): void {
    this.#isClosed = true;
    this.service.close();
    for (const peer of this.#peers.values()) peer.close();
    this.#peers.clear();
  }

  /**
   * Renews the links to all other nodes after a change of certificates: one after the other, so that no two of them are away at
   * once, and after random pauses, because all nodes may get new certificates at once.
   */
  async #renewLinks(): Promise<void> {
    this.#changes++;
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    for (let done = 0; done < this.#changes; ) {
      done = this.#changes;
      for (const peer of [...this.#peers.values()]) {
        await this.#pause(RENEWAL_PAUSE_MS);
        await peer.renew();
      }
    }
    this.#isRenewing = false;
  }

  async #pause(mostMs: number): Promise<void> {
    const { runtime } = this.#deps;
    await new Promise<void>((resolve) => runtime.setTimer(runtime.random() * mostMs, resolve));
  }

  #meet(profile: NodeProfile): void {
    let peer = this.#peers.get(profile.incarnation);
    if (peer === undefined) {
      const { incarnation: to, address } = profile;
      const { node: from, level, runtime, log } = this.#deps;
      const link = { from, to, level, address, door: this.#door, alike: this.#alike.own };
      peer = new Peer({ link, losses: this.#losses, turns: this.#turns, runtime, log });
      this.#peers.set(to, peer);
    }
    peer.meet(profile);
  }
}
