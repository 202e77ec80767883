import type { ReadOptions, Requests } from "./requests.ts";

/** Progress of the intake of a partition of the topic of requests. */
export interface IngestPartition {
  partition: number;
  /** Offset of the next record that is taken in. */
  next: number;
  /** Offset of the next record that a producer will write. */
  end: number;
  /** Number of records that are not taken in. */
  lag: number;
}

/** Progress of the intake of records of Kafka. */
export interface IngestStatus {
  /** MAINSPRING_INGEST of the node that answers. */
  mode: string;
  partitions: IngestPartition[];
}

/** A position that was set back. */
export interface IngestMove {
  partition: number;
  /** Offset that was next. */
  from: number;
  /** Offset that is next now. */
  to: number;
}

/** The way of jobs through Kafka: how far it is, and how to take it again. Every method throws `MainspringError`. */
export class Ingest {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** @throws {MainspringError} CONFLICT: the node takes no jobs through Kafka */
  status(options: ReadOptions = {}): Promise<IngestStatus> {
    return this.#requests.get("/v1/ingest", options);
  }

  /**
   * Has records read again from a time on. The server takes none in twice.
   * @returns partitions whose position was set back
   * @throws {MainspringError} VALIDATION: the time is longer ago than executions are kept
   */
  async seek(to: Date, options: ReadOptions = {}): Promise<IngestMove[]> {
    const body = { to: to.toISOString() };
    const path = "/v1/ingest/seek";
    return (await this.#requests.send<{ partitions: IngestMove[] }>("POST", path, body, true, options)).partitions;
  }
}
