import type { EpochMs } from "../domain/ids.ts";
import type { RecordPosition } from "../domain/ingest.ts";
import type { IngestRefusal } from "./store-ingest.ts";

/** Log of requests for jobs, in partitions: a topic of Kafka. */

/** The log did not do what was asked. After a failed write it is unknown whether the records are in the log. */
export class RequestLogUnavailable extends Error {
  override readonly name = "RequestLogUnavailable";
  /** Change that a person has to make first; null: a later attempt may succeed. */
  readonly refusal: string | null;
  /** Whether the log refuses the records for their size, so that none of them was written. */
  readonly isTooLarge: boolean;

  constructor(message: string, options: ErrorOptions & { refusal?: string | null; isTooLarge?: boolean } = {}) {
    super(message, options);
    this.refusal = options.refusal ?? null;
    this.isTooLarge = options.isTooLarge ?? false;
  }
}

/** The log did not get a request. */
export class RequestNotSent extends Error {
  override readonly name = "RequestNotSent";
  /** Whether the log was not asked, so that it does not have the request. */
  readonly isUnasked: boolean;

  constructor(message: string, isUnasked: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isUnasked = isUnasked;
  }
}

/** The topic as it is now. A topic that was deleted and created again has another id. */
export interface LogTopic {
  /** UUID. */
  id: string;
  /** Number of partitions. */
  partitions: number;
}

/** Names of headers of records. */
export const LOG_HEADERS = {
  contentType: "content-type",
  jobId: "mainspring-job-id",
  idempotencyKey: "idempotency-key",
  traceparent: "traceparent",
} as const;

/** Format of values that are the JSON text of a job. */
export const JSON_TYPE = "application/json";
/** Format of values that are a `mainspring.requests.v1.JobRequest`. */
export const PROTOBUF_TYPE = "application/protobuf";

export interface NewLogRecord {
  partition: number;
  /** JSON text of a job, as POST /v1/jobs takes it. */
  value: Uint8Array;
  headers: Readonly<Record<string, string>>;
  /** Time of the request. */
  at: EpochMs;
}

export interface LogRecord {
  offset: number;
  /** Time of the producer, or of the broker if the topic says so; any number. */
  timestamp: number;
  value: Uint8Array | null;
  /** Headers with names in small letters. The last one counts where a name is repeated. */
  headers: ReadonlyMap<string, string>;
}

/** Result of reading a partition. */
export type LogPortion = { at: RecordPosition } & (
  | { state: "READ"; records: readonly LogRecord[]; next: number }
  /** The log has no record at the offset. `start` and `end` are those of the log. */
  | { state: "OUT_OF_RANGE"; start: number; end: number }
  /** The topic was deleted. */
  | { state: "GONE" }
  /** The leader has moved; the next read finds the new one. */
  | { state: "MOVED" }
  /** The records at the offset are compressed, and expand to more than a read takes, so that nobody knows how many there are. */
  | { state: "OVERSIZED" }
);

export interface LogReadBounds {
  /** Longest wait in ms for a record. */
  waitMs: number;
  /** Bytes of records, as they are in the log; a larger first record is read alone. */
  maxBytes: number;
}

/**
 * Reads the log. After an error the reader is of no use: a new one has to be opened. One call at a time.
 * @throws {RequestLogUnavailable} each call
 */
export interface RequestLogReader {
  /** null: there is no topic. */
  topic(): Promise<LogTopic | null>;
  /** Reads partitions of the topic that `topic` has told last. */
  read(positions: readonly RecordPosition[], bounds: LogReadBounds): Promise<LogPortion[]>;
  /** Offset of the next record of a partition. */
  end(partition: number): Promise<number>;
  /** Offset of the first record with this time or a later one; null: there is none. */
  offsetAt(partition: number, time: EpochMs): Promise<number | null>;
  close(): void;
}

/**
 * Writes the log. After an error the writer is of no use: a new one has to be opened.
 * @throws {RequestLogUnavailable} each call
 */
export interface RequestLogWriter {
  /** Creates what is missing: the topic of requests, and that of refused ones. */
  open(): Promise<LogTopic>;
  /** Resolves with the offsets of the records, in order, when all in-sync replicas have them. */
  send(records: readonly NewLogRecord[]): Promise<number[]>;
  /** Tells of refused records. Resolves when all in-sync replicas have that. */
  tellRefused(refusals: readonly IngestRefusal[]): Promise<void>;
  close(): void;
}

export interface RequestLog {
  openReader(): Promise<RequestLogReader>;
  openWriter(): Promise<RequestLogWriter>;
}
