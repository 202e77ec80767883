import type { Incarnation } from "../../domain/ids.ts";
import type { BusReading } from "../mesh/schemas/to-bus.ts";

/** Time in ms after which an announcement without a repetition is over; it is repeated each second. */
const READING_MAX_MS = 3_000;

/** Partition in which a node reads. */
export type Route = BusReading["routes"][number];

/** Announcements of nodes that they read a bus on Kafka. A message goes over Kafka only to nodes that announce that they read it. */
export class Readings {
  /** Id of the Kafka cluster that this node writes to; null: not known yet. */
  cluster: string | null = null;
  readonly #signedWith: BusReading["signedWith"];
  readonly #known = new Map<Incarnation, { reading: BusReading; untilMs: number }>();

  constructor(signedWith: BusReading["signedWith"]) {
    this.#signedWith = signedWith;
  }

  hear(from: Incarnation, reading: BusReading, nowMs: number): void {
    this.#known.set(from, { reading, untilMs: nowMs + READING_MAX_MS });
    for (const [node, { untilMs }] of this.#known) if (untilMs < nowMs) this.#known.delete(node);
  }

  /**
   * Route of a message to a node over the first of the topics that the node reads.
   * @returns null: the node reads no topic of this cluster, and the mesh reaches it. WAIT: it cannot read at present
   */
  route(to: Incarnation, topics: readonly string[], nowMs: number): Route | "WAIT" | null {
    const known = this.#known.get(to);
    if (known === undefined || known.untilMs < nowMs) return null;
    const { cluster, signedWith, isOpen, routes } = known.reading;
    if (signedWith !== this.#signedWith) return null;
    if (!isOpen || this.cluster === null) return "WAIT";
    if (cluster !== this.cluster) return null;
    for (const topic of topics) {
      const route = routes.find((one) => one.topic === topic);
      if (route !== undefined) return route;
    }
    return null;
  }
}
