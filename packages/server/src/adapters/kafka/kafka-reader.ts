import type { Consumer } from "@platformatic/kafka";
import type { KafkaAddress } from "../../ports/kafka-address.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { ExpansionRefused } from "./expansion.ts";
import { type KafkaClient, KafkaFailed, kafkaClient, kafkaErrorNames, RIGHTS } from "./kafka-client.ts";

/** A topic as the brokers know it. A topic that was deleted and created again has another id. */
export interface KafkaTopic {
  name: string;
  id: string;
  /** Number of partitions. */
  partitions: number;
}

/** A partition, and the offset of the next record to read. */
export interface KafkaPosition {
  topic: KafkaTopic;
  partition: number;
  offset: bigint;
}

export interface KafkaRecord {
  offset: bigint;
  /** Time in ms since 1970 that the producer gave, or the broker if the topic says so. */
  timestamp: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: readonly (readonly [Buffer | null, Buffer | null])[];
}

/** Result of reading one partition. */
export type KafkaPortion = { at: KafkaPosition } & (
  | { state: "READ"; records: readonly KafkaRecord[]; next: bigint }
  /** The log has no record at the offset: the records were deleted, or never existed. `start` and `end` are those of the log. */
  | { state: "OUT_OF_RANGE"; start: bigint; end: bigint }
  /** The topic was deleted; one with the same name is another topic. */
  | { state: "GONE" }
  /** The leader has moved. The next read finds the new one. */
  | { state: "MOVED" }
  /**
   * The compressed records at the offset expand to more than `EXPANDED_MAX_BYTES`, so nothing was read. No node writes such
   * records. `end`: that of the log.
   */
  | { state: "OVERSIZED"; end: bigint }
);

export interface ReadBounds {
  /** Longest wait in ms for a record, at most 5_000. */
  waitMs: number;
  /** Bytes of records, compressed; a larger first record is read alone. */
  maxBytes: number;
}

/**
 * Reads partitions of Kafka from given offsets, without a consumer group: the caller keeps the positions. One call at a time.
 * After an error the reader is of no use: a new one has to be opened.
 * @throws {KafkaFailed} each call
 */
export interface KafkaReader {
  /** Id of the Kafka cluster. */
  clusterId(): Promise<string>;
  /** null: there is no such topic. @throws {KafkaFailed} the broker is older than Kafka 3.1, too */
  topic(name: string): Promise<KafkaTopic | null>;
  /** Offset of the next record that a producer will write. */
  end(topic: KafkaTopic, partition: number): Promise<bigint>;
  /** Offset of the first record with this time in ms since 1970 or a later one; null: there is none. */
  offsetAt(topic: KafkaTopic, partition: number, time: number): Promise<bigint | null>;
  /** Reads what there is, and waits only if there is nothing. A portion for each position that has something to tell. */
  read(positions: readonly KafkaPosition[], bounds: ReadBounds): Promise<KafkaPortion[]>;
  /** Ends the connections at once. */
  close(): void;
}

/** Limit in ms of a call, without the wait of a read. */
const CALL_MS = 5_000;
/** Number of attempts, and interval in ms, in which a partition has to have a leader. */
const LEADER_ATTEMPTS = 20;
const LEADER_EVERY_MS = 100;
const NO_LEADER = ["NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH"];
const NEWEST = -1n;
const OLDEST = -2n;
const IS_CONTROL = 0b100000;
/** Codes of the protocol: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID. */
const GONE = [3, 100, 103];
const OFFSET_OUT_OF_RANGE = 1;
const TOPIC_AUTHORIZATION_FAILED = 29;
/** LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, REPLICA_NOT_AVAILABLE, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH. */
const MOVED = [5, 6, 9, 74, 75];
/** Errors after which the client begins another session of fetches. It loses count of a session in which a partition had an error. */
const SESSION_OVER = ["FETCH_SESSION_ID_NOT_FOUND", "INVALID_FETCH_SESSION_EPOCH", "FETCH_SESSION_TOPIC_ID_ERROR"];

/** Opens a reader. It connects with the first call. */
export async function openKafkaReader(address: KafkaAddress, clientId: string, runtime: Runtime): Promise<KafkaReader> {
  const made = await kafkaClient(address, clientId, runtime);
  // The client wants the name of a group, and joins none.
  const consumer = new made.client.Consumer({ ...made.options, groupId: clientId, timeout: 2 * CALL_MS });
  return new ClientReader(made, consumer, runtime);
}

class ClientReader implements KafkaReader {
  readonly #made: KafkaClient;
  readonly #consumer: Consumer;
  readonly #runtime: Runtime;
  /** Leaders that are known, by topic. */
  readonly #leaders = new Map<string, readonly number[]>();
  #isReadable = false;

  constructor(made: KafkaClient, consumer: Consumer, runtime: Runtime) {
    this.#made = made;
    this.#consumer = consumer;
    this.#runtime = runtime;
  }

  clusterId(): Promise<string> {
    return this.#call(async () => (await this.#consumer.metadata({ topics: [], forceUpdate: true })).id);
  }

  topic(name: string): Promise<KafkaTopic | null> {
    return this.#call(async () => {
      if (!this.#isReadable) await this.#made.refuseOld(this.#consumer);
      this.#isReadable = true;
      try {
        const metadata = await this.#consumer.metadata({ topics: [name], forceUpdate: true });
        const found = metadata.topics.get(name);
        if (found === undefined) return null;
        this.#leaders.set(
          name,
          found.partitions.map(({ leader }) => leader),
        );
        return { name, id: found.id, partitions: found.partitionsCount };
      } catch (error) {
        if (error instanceof Error && error.message === `Unknown topic ${name}.`) return null;
        throw error;
      }
    });
  }

  end(topic: KafkaTopic, partition: number): Promise<bigint> {
    return this.#offset(topic, partition, NEWEST);
  }

  async offsetAt(topic: KafkaTopic, partition: number, time: number): Promise<bigint | null> {
    const offset = await this.#offset(topic, partition, BigInt(Math.max(0, Math.floor(time))));
    return offset < 0n ? null : offset;
  }

  async read(positions: readonly KafkaPosition[], bounds: ReadBounds): Promise<KafkaPortion[]> {
    const byLeader = Map.groupBy(positions, ({ topic, partition }) => this.#leaderOf(topic, partition));
    const unknown = byLeader.get(null) ?? [];
    byLeader.delete(null);
    for (const { name } of new Set(unknown.map(({ topic }) => topic))) await this.topic(name);
    const portions: KafkaPortion[] = unknown.map((at) => ({ at, state: "MOVED" }));
    const reads = [...byLeader].map(([leader, all]) => this.#readFrom(leader as number, all, bounds));
    return [...portions, ...(await Promise.all(reads)).flat()];
  }

  close(): void {
    // A close can wait for a broker that does not answer; nothing depends on its end.
    this.#consumer.close(true).catch(() => undefined);
  }

  async #readFrom(node: number, positions: readonly KafkaPosition[], bounds: ReadBounds): Promise<KafkaPortion[]> {
    const { waitMs, maxBytes } = bounds;
    const topics = Map.groupBy(positions, ({ topic }) => topic.id);
    const request = {
      ...{ node, maxWaitTime: waitMs, minBytes: 1, maxBytes },
      topics: [...topics].map(([topicId, all]) => ({
        topicId,
        partitions: all.map(({ partition, offset: fetchOffset }) => {
          const epochs = { currentLeaderEpoch: -1, lastFetchedEpoch: -1 };
          return { partition, fetchOffset, partitionMaxBytes: maxBytes, ...epochs };
        }),
      })),
    };
    const response = await this.#call(() => this.#fetched(request), waitMs);
    if (response === "OVERSIZED") return this.#readAlone(node, positions, bounds);
    const answers = response.responses.flatMap(({ topicId, partitions }) =>
      partitions.map((answer) => ({ topicId, answer })),
    );
    const portions: KafkaPortion[] = [];
    for (const { topicId, answer } of answers) {
      const at = positions.find(({ topic, partition }) => topic.id === topicId && partition === answer.partitionIndex);
      if (at !== undefined) portions.push(await this.#portion(at, answer));
    }
    return portions;
  }

  /** Reads one batch of each position by itself. A broker returns the first one, however large it is. */
  async #readAlone(node: number, positions: readonly KafkaPosition[], bounds: ReadBounds): Promise<KafkaPortion[]> {
    const [only, another] = positions;
    if (only !== undefined && another === undefined && bounds.maxBytes === 1) {
      return [{ at: only, state: "OVERSIZED", end: await this.end(only.topic, only.partition) }];
    }
    const portions: KafkaPortion[] = [];
    for (const at of positions) portions.push(...(await this.#readFrom(node, [at], { waitMs: 1, maxBytes: 1 })));
    return portions;
  }

  /** The response, also if some partitions in it have errors. OVERSIZED: its records expand to too much. */
  async #fetched(request: FetchRequest, isRepeated = false): Promise<FetchResponse | "OVERSIZED"> {
    try {
      return await this.#consumer.fetch(request);
    } catch (error) {
      if (isOversized(error)) return "OVERSIZED";
      const names = kafkaErrorNames(error);
      if (!isRepeated && SESSION_OVER.some((name) => names.has(name))) return this.#fetched(request, true);
      const { response } = error as { response?: FetchResponse };
      if (response === undefined || response.errorCode !== 0) throw error;
      return response;
    }
  }

  async #portion(at: KafkaPosition, answer: Answer): Promise<KafkaPortion> {
    const { errorCode } = answer;
    if (errorCode === 0) return { at, state: "READ", ...recordsFrom(at.offset, answer) };
    if (GONE.includes(errorCode)) return { at, state: "GONE" };
    if (errorCode === OFFSET_OUT_OF_RANGE) {
      const [start, end] = [await this.#offset(at.topic, at.partition, OLDEST), await this.end(at.topic, at.partition)];
      return { at, state: "OUT_OF_RANGE", start, end };
    }
    if (MOVED.includes(errorCode)) {
      this.#leaders.delete(at.topic.name);
      return { at, state: "MOVED" };
    }
    const refusal = errorCode === TOPIC_AUTHORIZATION_FAILED ? RIGHTS : null;
    throw new KafkaFailed(`Kafka answers a read of ${at.topic.name} with error ${errorCode}`, refusal);
  }

  async #offset(topic: KafkaTopic, partition: number, timestamp: bigint): Promise<bigint> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#call(() => this.#offsetNow(topic, partition, timestamp));
      } catch (error) {
        const names = kafkaErrorNames(error);
        // The leader of a partition that was just created does not know yet that it is the leader.
        if (attempt === LEADER_ATTEMPTS || !NO_LEADER.some((name) => names.has(name))) throw error;
        await new Promise<void>((resolve) => this.#runtime.setTimer(LEADER_EVERY_MS, resolve));
      }
    }
  }

  async #offsetNow({ name }: KafkaTopic, partition: number, timestamp: bigint): Promise<bigint> {
    const partitions = { [name]: [partition] };
    const found = await this.#consumer.listOffsetsWithTimestamps({ topics: [name], partitions, timestamp });
    const offset = found.get(name)?.get(partition)?.offset;
    if (offset === undefined) throw new KafkaFailed(`Kafka names no offset of ${name}-${partition}`, null);
    return offset;
  }

  #leaderOf({ name }: KafkaTopic, partition: number): number | null {
    const leader = this.#leaders.get(name)?.[partition] ?? -1;
    return leader < 0 ? null : leader;
  }

  #call<T>(call: () => Promise<T>, waitMs = 0): Promise<T> {
    return this.#made.bounded(CALL_MS + waitMs, call);
  }
}

type FetchRequest = Parameters<Consumer["fetch"]>[0];
type FetchResponse = Awaited<ReturnType<Consumer["fetch"]>>;
type Answer = FetchResponse["responses"][number]["partitions"][number];

function isOversized(error: unknown): boolean {
  if (error instanceof ExpansionRefused) return true;
  const inner = error instanceof AggregateError ? error.errors : [];
  return inner.some(isOversized) || (error instanceof Error && error.cause !== undefined && isOversized(error.cause));
}

/** Records from an offset on. A batch can begin before the offset, and its last records can be missing after a compaction. */
function recordsFrom(offset: bigint, answer: Answer): { records: KafkaRecord[]; next: bigint } {
  const records: KafkaRecord[] = [];
  let next = offset;
  for (const batch of answer.records ?? []) {
    const after = batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n;
    if (after > next) next = after;
    if ((batch.attributes & IS_CONTROL) !== 0) continue;
    for (const { offsetDelta, timestampDelta, key, value, headers } of batch.records) {
      const at = batch.firstOffset + BigInt(offsetDelta);
      if (at < offset) continue;
      records.push({ offset: at, timestamp: Number(batch.firstTimestamp + timestampDelta), key, value, headers });
    }
  }
  return { records, next };
}
