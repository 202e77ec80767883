import { createHash } from "node:crypto";
import type { Incarnation } from "../../domain/ids.ts";
import type { Mail, Receiver } from "../../ports/bus.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { Letter } from "../mesh/packet.ts";

/** Number of partitions of a topic that a node creates: of the two for all pools, and of one for a single pool. */
export const PARTITIONS = 12;
export const POOL_PARTITIONS = 3;
/** Largest number of pools with a topic of their own that a node reads. The others use the topic for all pools. */
export const POOL_TOPICS_MAX = 50;
/** Longest escaped name of a pool in a topic; longer ones are replaced by a digest. Kafka takes names of 249 characters. */
const POOL_NAME_MAX = 120;

export type TopicsBy = "one" | "pool";

/** A part of a message, and the names of topics for it, the best one first. */
export interface Addressed {
  topics: readonly string[];
  letter: Letter;
}

/** Names of the topics that carry messages. */
export class BusTopics {
  readonly results: string;
  readonly assignments: string;
  readonly by: TopicsBy;
  readonly #prefix: string;

  constructor(prefix: string, by: TopicsBy) {
    this.#prefix = prefix;
    this.by = by;
    this.results = `${prefix}job-results`;
    this.assignments = `${prefix}job-assignments`;
  }

  /** Topic of a pool. Different pools have different topics. */
  ofPool(pool: string): string {
    // A point separates, so it is in no escaped name.
    const escaped = pool.replace(/[^A-Za-z0-9-]/gu, (char) => `_${Buffer.from(char).toString("hex")}_`);
    const name = escaped.length <= POOL_NAME_MAX ? escaped : `.${digest(pool).toString("hex", 0, 16)}`;
    return `${this.#prefix}assignments.${name}`;
  }

  /**
   * Topics of a message.
   * @param poolOf pool of a worker; null: not known
   * @returns null: the message does not go over Kafka
   */
  of<R extends Receiver>(role: R, message: Mail[R], poolOf: (workerId: string) => string | null): Addressed[] | null {
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- all other messages stay on the mesh
    switch (message.kind) {
      case "STARTED":
      case "FINISHED":
        return [{ topics: [this.results], letter: { role, message } as Letter }];
      case "ASSIGN":
        if (this.by === "one") return [{ topics: [this.assignments], letter: { role, message } as Letter }];
        return this.#byPool(message.assigns, poolOf);
      default:
        return null;
    }
  }

  #byPool(assigns: readonly Assignment[], poolOf: (workerId: string) => string | null): Addressed[] {
    const groups = Map.groupBy(assigns, ({ workerId }) => poolOf(workerId));
    return [...groups].map(([pool, group]) => ({
      topics: [...(pool === null ? [] : [this.ofPool(pool)]), this.assignments],
      letter: { role: "gateway", message: { kind: "ASSIGN", assigns: group } },
    }));
  }
}

/** Partition in which a node reads its messages, so that it reads few messages of others. */
export function partitionOf(node: Incarnation, partitions: number): number {
  return digest(node).readUInt32BE(0) % partitions;
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
