import type { Logger } from "pino";
import type { Incarnation } from "../../domain/ids.ts";
import type { Bus, Envelope, Mail, Receiver } from "../../ports/bus.ts";
import type { KafkaAddress } from "../../ports/kafka-address.ts";
import type { ToScheduler } from "../../ports/messages.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import { Turns } from "../../ports/turns.ts";
import { openKafkaReader } from "../kafka/kafka-reader.ts";
import type { MeshBus } from "../mesh/mesh-bus.ts";
import type { BusKeys } from "./bus-envelope.ts";
import { BusInlet } from "./bus-inlet.ts";
import { BusOutlet } from "./bus-outlet.ts";
import {
  type Addressed,
  BusTopics,
  PARTITIONS,
  POOL_PARTITIONS,
  POOL_TOPICS_MAX,
  type TopicsBy,
} from "./bus-topics.ts";
import { openBusWriter } from "./bus-writer.ts";
import { Readings } from "./readings.ts";

/** Interval in ms in which a node repeats what it reads. */
const ANNOUNCE_EVERY_MS = 1_000;
/** Largest number of workers whose pools are known. */
const WORKERS_MAX = 100_000;

export interface KafkaBusDependencies {
  /** Carries everything else, and what Kafka cannot carry. */
  mesh: MeshBus;
  kafka: KafkaAddress;
  /** Beginning of the names of topics. */
  prefix: string;
  topicsBy: TopicsBy;
  /** Whether messages wait while Kafka does not answer, instead of going over the mesh. */
  isStrict: boolean;
  keys: BusKeys;
  runtime: Runtime;
  log: Logger;
  /** Topics of a message; null: it stays on the mesh. Default: assignments, starts and results have topics. */
  topicsOf?: (role: Receiver, message: Mail[Receiver]) => Addressed[] | null;
  /** Whether messages of the node to itself go over Kafka, too; default: no. */
  isLooped?: boolean;
}

/**
 * Bus whose assignments, starts and results go over Kafka, to the nodes that announce over the mesh that they read them there.
 * Everything else goes over the mesh.
 */
export class KafkaBus implements Bus {
  readonly node: Incarnation;
  readonly #deps: KafkaBusDependencies;
  readonly #topics: BusTopics;
  readonly #readings: Readings;
  readonly #outlet: BusOutlet;
  readonly #inlet: BusInlet;
  readonly #pools = new Map<string, string>();
  readonly #poolTopics = new Set<string>();
  /** Reasons why the node could not write or read at last; null: it could, or has not tried. */
  #faults: { writes: string | null; reads: string | null } = { writes: null, reads: null };
  /** Whether the last line of the log says that Kafka is down. */
  #isSaidDown = false;
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(deps: KafkaBusDependencies) {
    this.#deps = deps;
    const { mesh, kafka, prefix, topicsBy, isStrict, keys, runtime, log } = deps;
    this.node = mesh.node;
    this.#topics = new BusTopics(prefix, topicsBy);
    this.#readings = new Readings(keys.signedWith);
    const turns = new Turns(runtime);
    const openWriter = () => openBusWriter(kafka, runtime);
    const { node } = this;
    const topics = [this.#topics.assignments, this.#topics.results];
    this.#outlet = new BusOutlet({
      ...{ node, topics, open: openWriter, keys, readings: this.#readings, isStrict, turns, runtime, log },
      overMesh: (to, { role, message }) => mesh.send({ node: to, role: role as Receiver }, message as Mail[Receiver]),
      changed: (reason) => this.#changed({ ...this.#faults, writes: reason }),
    });
    this.#inlet = new BusInlet({
      ...{
        node,
        openReader: () => openKafkaReader(kafka, "mainspring-bus", runtime),
        openWriter,
        keys,
        turns,
        runtime,
        log,
      },
      knows: (from) => from === node || mesh.knows(from),
      receive: (from, letters) => mesh.receive(from, letters),
      changed: (reason) => this.#changed({ ...this.#faults, reads: reason }),
    });
    for (const topic of topics) this.#inlet.follow(topic, PARTITIONS);
    mesh.onReading((from, reading) => {
      this.#readings.hear(from, reading, runtime.monotonicMs());
      this.#outlet.flush();
    });
  }

  ownerOf: Bus["ownerOf"] = (shard) => this.#deps.mesh.ownerOf(shard);

  nodes: Bus["nodes"] = (role) => this.#deps.mesh.nodes(role);

  connected: Bus["connected"] = () => this.#deps.mesh.connected();

  listen: Bus["listen"] = (role, receive) => {
    if (role !== "scheduler" || this.#topics.by === "one") return this.#deps.mesh.listen(role, receive);
    return this.#deps.mesh.listen(role, (messages) => {
      for (const { message } of messages as readonly Envelope<ToScheduler>[]) this.#learn(message);
      receive(messages);
    });
  };

  send: Bus["send"] = (to, message) => {
    if (this.#topics.by === "pool" && message.kind === "WORKER_UP") this.#follow(message.worker.pool);
    const topicsOf = this.#deps.topicsOf ?? this.#topicsOf;
    const isHere = to.node === this.node && this.#deps.isLooped !== true;
    const parts = isHere ? null : topicsOf(to.role, message);
    if (parts === null) this.#deps.mesh.send(to, message);
    else for (const part of parts) this.#outlet.put(to.node, part);
  };

  /**
   * Opens the topics. Resolves when the first attempt has ended; further ones follow.
   * @returns the refusal of Kafka that only a person can end; null: there is none
   */
  async open(): Promise<string | null> {
    // The reader creates the topics that the writer needs.
    const opened = [
      ...(await Promise.allSettled([this.#inlet.start()])),
      ...(await Promise.allSettled([this.#outlet.open()])),
    ];
    this.#announceLater();
    const errors = opened.map((one) => (one.status === "rejected" ? one.reason : null));
    const refused = errors.find((error) => error !== null && typeof error.refusal === "string");
    return refused === undefined ? null : `${refused.message}: ${refused.refusal}`;
  }

  /** Numbers of messages since the start, and whether the node can write to Kafka and read from it. */
  load(): { isUp: boolean; kafka: number; mesh: number; dropped: number; refused: number } {
    const isUp = this.#outlet.isOpen && this.#inlet.reading !== null;
    return { isUp, ...this.#outlet.counts, refused: this.#inlet.refused };
  }

  /** Ends the use of Kafka. Messages go over the mesh from then on. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#inlet.close();
    this.#outlet.close();
    this.#announce();
  }

  #topicsOf = (role: Receiver, message: Mail[Receiver]): Addressed[] | null =>
    this.#topics.of(role, message, (workerId) => this.#pools.get(workerId) ?? null);

  #learn(message: ToScheduler): void {
    if (message.kind !== "WORKER_UP") return;
    this.#pools.delete(message.worker.workerId);
    this.#pools.set(message.worker.workerId, message.worker.pool);
    const [oldest] = this.#pools.keys();
    if (this.#pools.size > WORKERS_MAX && oldest !== undefined) this.#pools.delete(oldest);
  }

  #follow(pool: string): void {
    if (this.#poolTopics.has(pool) || this.#poolTopics.size >= POOL_TOPICS_MAX) return;
    this.#poolTopics.add(pool);
    this.#inlet.follow(this.#topics.ofPool(pool), POOL_PARTITIONS);
  }

  #changed(faults: { writes: string | null; reads: string | null }): void {
    this.#faults = faults;
    this.#announce();
    const { log, isStrict } = this.#deps;
    const reason = faults.writes ?? faults.reads;
    if (this.#isClosed || (reason !== null) === this.#isSaidDown) return;
    this.#isSaidDown = reason !== null;
    const way = isStrict ? "assignments and results wait for it" : "assignments and results go over the mesh";
    if (reason === null) log.info("the bus on Kafka answers again");
    else log.warn({ reason }, `the bus on Kafka does not answer: ${way}`);
  }

  #announceLater(): void {
    if (this.#isClosed) return;
    this.#announce();
    this.#timer = this.#deps.runtime.setTimer(ANNOUNCE_EVERY_MS, () => this.#announceLater());
  }

  #announce(): void {
    const { mesh, keys, isLooped, runtime } = this.#deps;
    const open = this.#isClosed ? null : this.#inlet.reading;
    const { cluster, routes } = open ?? { cluster: "none", routes: [] };
    const reading = { kind: "READING" as const, cluster, signedWith: keys.signedWith, isOpen: open !== null, routes };
    mesh.announce(reading);
    if (isLooped === true) this.#readings.hear(this.node, reading, runtime.monotonicMs());
    this.#outlet.flush();
  }
}
