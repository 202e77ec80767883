import type { EventRow } from "./store-events.ts";

/** Another system that gets every event: Kafka, ClickHouse. The relay of a shard's owner brings the rows of the shard to it. */
export interface EventSink {
  /** Name of the sink in settings, logs and metrics, and of its positions in the store: lower-case letters. */
  readonly name: string;
  /**
   * Connects, and checks what only the other system knows: its version, its rights, its topics or tables.
   * @throws {SinkRefused} it will not work until a person changes something
   * @throws {SinkUnavailable} it may work later
   */
  open(): Promise<void>;
  /**
   * Brings rows to the sink. Resolves when the sink has them durably, and may have brought some of them when it throws: the relay
   * brings them again then. Rows of one shard come in their order, and a repeat brings equal events with equal ids.
   * @param rows rows of any shards; together about 128 KiB of stored bytes, or 2,000 rows
   * @throws {SinkUnavailable} the relay tries again later, with a growing wait
   * @throws {SinkRefused} the relay opens the sink again later
   */
  deliver(rows: readonly EventRow[]): Promise<void>;
  /** Ends all connections. Deliveries under way throw SinkUnavailable. */
  close(): Promise<void>;
}

/** The sink does not answer, or not in time. */
export class SinkUnavailable extends Error {
  override readonly name = "SinkUnavailable";
}

/** The sink will refuse whatever comes, and the message says what a person has to change. */
export class SinkRefused extends Error {
  override readonly name = "SinkRefused";
}
