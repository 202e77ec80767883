import {
  type LogPortion,
  type LogRecord,
  type NewLogRecord,
  type RequestLog,
  type RequestLogReader,
  RequestLogUnavailable,
  type RequestLogWriter,
} from "../../ports/request-log.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { IngestRefusal } from "../../ports/store-ingest.ts";

/** A log of requests in memory, for tests. */
export class MemoryLog implements RequestLog {
  readonly partitions: number;
  readonly refused: IngestRefusal[] = [];
  topicId: string;
  isDown = false;
  /** Whether the next write is done and not answered. */
  losesAnswer = false;
  /** Whether the records at a position expand to more than a read takes. */
  isOversized: (at: { partition: number; offset: number }) => boolean = () => false;
  /** Records of each partition; a test may cut their beginning. */
  records: LogRecord[][];
  readonly #runtime: Runtime;
  #waiting: (() => void)[] = [];

  constructor(runtime: Runtime, partitions = 3) {
    this.#runtime = runtime;
    this.topicId = runtime.uuid();
    this.partitions = partitions;
    this.records = Array.from({ length: partitions }, () => []);
  }

  /** Deletes the topic, and creates it again. */
  recreate(): void {
    this.topicId = this.#runtime.uuid();
    this.records = this.records.map(() => []);
    this.#wake();
  }

  /** Adds a record, as another program does. @returns id of the request */
  append(record: Pick<NewLogRecord, "value"> & Partial<NewLogRecord>): string {
    const { partition = 0, headers = {}, at = this.#runtime.now(), value } = record;
    const records = this.records[partition] as LogRecord[];
    const offset = (records.at(-1)?.offset ?? -1) + 1;
    records.push({ offset, timestamp: at, value, headers: new Map(Object.entries(headers)) });
    this.#wake();
    return `${partition}-${offset}`;
  }

  async openReader(): Promise<RequestLogReader> {
    let topic = "";
    return {
      topic: async () => {
        this.#check();
        topic = this.topicId;
        return { id: topic, partitions: this.partitions };
      },
      read: async (positions) => {
        const read = () => positions.map((at) => this.#portion(at, topic));
        const first = read();
        if (first.some((portion) => portion.state !== "READ" || portion.records.length > 0)) return first;
        await new Promise<void>((resolve) => {
          const timer = this.#runtime.setTimer(50, resolve);
          this.#waiting.push(() => {
            timer.cancel();
            resolve();
          });
        });
        return read();
      },
      end: async (partition) => (this.records[partition]?.at(-1)?.offset ?? -1) + 1,
      offsetAt: async (partition, time) =>
        this.records[partition]?.find(({ timestamp }) => timestamp >= time)?.offset ?? null,
      close: () => this.#wake(),
    };
  }

  async openWriter(): Promise<RequestLogWriter> {
    return {
      open: async () => {
        this.#check();
        return { id: this.topicId, partitions: this.partitions };
      },
      send: async (records) => {
        this.#check();
        const ids = records.map((record) => Number(this.append(record).split("-")[1]));
        if (!this.losesAnswer) return ids;
        this.losesAnswer = false;
        throw new RequestLogUnavailable("no answer");
      },
      tellRefused: async (refusals) => {
        this.#check();
        this.refused.push(...refusals);
      },
      close: () => undefined,
    };
  }

  #portion(at: { partition: number; offset: number }, topic: string): LogPortion {
    this.#check();
    if (topic !== this.topicId) return { at, state: "GONE" };
    const records = this.records[at.partition] ?? [];
    const [start, end] = [records[0]?.offset ?? 0, (records.at(-1)?.offset ?? -1) + 1];
    if (at.offset < start || at.offset > end) return { at, state: "OUT_OF_RANGE", start, end };
    if (at.offset < end && this.isOversized(at)) return { at, state: "OVERSIZED" };
    return { at, state: "READ", records: records.filter(({ offset }) => offset >= at.offset), next: end };
  }

  #check(): void {
    if (this.isDown) throw new RequestLogUnavailable("the log is down");
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
