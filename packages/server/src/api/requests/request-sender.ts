import type { Logger } from "pino";
import type { RecordPosition } from "../../domain/ingest.ts";
import {
  type LogTopic,
  type NewLogRecord,
  type RequestLog,
  RequestLogUnavailable,
  type RequestLogWriter,
  RequestNotSent,
} from "../../ports/request-log.ts";
import { atEndOfTurn, type Runtime } from "../../ports/runtime.ts";
import { busy, ProblemError, problem } from "../http/errors.ts";

/** Records and bytes that wait or are being written. Beyond them submits are turned away. */
export const SENDER_LIMITS = { records: 20_000, bytes: 64 * 1024 * 1024 };
/** Records and bytes of one write; a larger record is written alone. */
const WRITE = { records: 2_000, bytes: 768 * 1024 };
/** Time in ms after a failure in which nobody waits for another attempt to reach the log. */
const DOWN_MS = 1_000;
/** Interval in ms at which the number of partitions is looked at. */
const LOOK_EVERY_MS = 30_000;

export interface RequestSenderDependencies {
  requestLog: Pick<RequestLog, "openWriter">;
  runtime: Runtime;
  log: Logger;
}

interface Waiting {
  record: NewLogRecord;
  resolve(position: RecordPosition): void;
  reject(error: unknown): void;
}

/** Group commit in front of the log of requests: what arrives while a write is under way goes into the next one together. */
export class RequestSender {
  readonly #deps: RequestSenderDependencies;
  #opened: { writer: RequestLogWriter; topic: LogTopic; atMs: number } | null = null;
  #opening: Promise<LogTopic> | null = null;
  #downUntilMs = Number.NEGATIVE_INFINITY;
  #queue: Waiting[] = [];
  #records = 0;
  #bytes = 0;
  #isScheduled = false;
  #isWriting = false;
  #isClosed = false;

  constructor(deps: RequestSenderDependencies) {
    this.#deps = deps;
  }

  /**
   * Opens the log, unless it is open, and returns the number of its partitions.
   * @throws {RequestNotSent} the log does not answer
   */
  async partitions(): Promise<number> {
    const { runtime } = this.#deps;
    const opened = this.#opened;
    if (opened !== null && runtime.monotonicMs() - opened.atMs < LOOK_EVERY_MS) return opened.topic.partitions;
    if (opened === null && runtime.monotonicMs() < this.#downUntilMs)
      throw new RequestNotSent("the log of requests did not answer a moment ago", true);
    try {
      return (await this.open()).partitions;
    } catch (error) {
      throw new RequestNotSent("the log of requests cannot be reached now", true, { cause: error });
    }
  }

  /** Opens the log, or looks at its topic again. @throws {RequestLogUnavailable} */
  open(): Promise<LogTopic> {
    this.#opening ??= this.#open().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  /**
   * Writes a record.
   * @throws {ProblemError} 429 while too much waits, 413 where the log takes no record of this size
   * @throws {RequestNotSent}
   */
  send(record: NewLogRecord): Promise<RecordPosition> {
    const bytes = record.value.length;
    const isFull = this.#records + 1 > SENDER_LIMITS.records || this.#bytes + bytes > SENDER_LIMITS.bytes;
    if (isFull && this.#records > 0)
      return Promise.reject(busy("too-many-requests", "too many submits wait for the log of requests", 1));
    this.#records++;
    this.#bytes += bytes;
    return new Promise((resolve, reject) => {
      this.#queue.push({ record, resolve, reject });
      this.#writeSoon();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  async #open(): Promise<LogTopic> {
    const { requestLog, runtime } = this.#deps;
    const writer = this.#opened?.writer ?? (await requestLog.openWriter());
    try {
      const topic = await writer.open();
      if (this.#isClosed) throw new RequestLogUnavailable("the server stops");
      this.#opened = { writer, topic, atMs: runtime.monotonicMs() };
      return topic;
    } catch (error) {
      writer.close();
      if (this.#opened?.writer === writer) this.#opened = null;
      this.#downUntilMs = runtime.monotonicMs() + DOWN_MS;
      throw error;
    }
  }

  #drop(): void {
    this.#opened?.writer.close();
    this.#opened = null;
  }

  #writeSoon(): void {
    if (this.#isScheduled || this.#isWriting) return;
    this.#isScheduled = true;
    atEndOfTurn(this.#deps.runtime, () => {
      this.#isScheduled = false;
      void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    while (this.#queue.length > 0) await this.#write(this.#takeGroup());
    this.#isWriting = false;
  }

  #takeGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { record } of this.#queue) {
      bytes += record.value.length;
      if (count > 0 && (bytes > WRITE.bytes || count >= WRITE.records)) break;
      count++;
    }
    return this.#queue.splice(0, count);
  }

  async #write(group: readonly Waiting[]): Promise<void> {
    try {
      await this.partitions();
      const opened = this.#opened;
      if (opened === null) throw new RequestNotSent("the log of requests cannot be reached now", true);
      const offsets = await opened.writer.send(group.map(({ record }) => record));
      for (const [i, { record, resolve }] of group.entries())
        resolve({ partition: record.partition, offset: offsets[i] as number });
      this.#release(group);
    } catch (error) {
      await this.#failed(group, error);
    }
  }

  async #failed(group: readonly Waiting[], error: unknown): Promise<void> {
    if (!(error instanceof RequestNotSent)) this.#drop();
    const isTooLarge = error instanceof RequestLogUnavailable && error.isTooLarge;
    if (isTooLarge && group.length > 1) {
      for (const one of group) await this.#write([one]);
      return;
    }
    for (const { reject } of group) reject(isTooLarge ? tooLarge(error) : notSent(error));
    this.#release(group);
  }

  #release(group: readonly Waiting[]): void {
    for (const { record } of group) {
      this.#records--;
      this.#bytes -= record.value.length;
    }
  }
}

function notSent(error: unknown): RequestNotSent {
  if (error instanceof RequestNotSent) return error;
  return new RequestNotSent("the log of requests did not answer", false, { cause: error });
}

function tooLarge(error: RequestLogUnavailable): ProblemError {
  const detail = `the topic of requests takes no job of this size: ${error.message}`;
  return new ProblemError(problem("payload-too-large", detail));
}
