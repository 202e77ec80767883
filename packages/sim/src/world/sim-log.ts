import {
  type LogPortion,
  type LogRecord,
  type NewLogRecord,
  type RequestLog,
  type RequestLogReader,
  RequestLogUnavailable,
  type RequestLogWriter,
} from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { EPOCH_MS, type SimProcess } from "../sim-process.ts";

/** Remainder by INGEST_EVERY of the seeds whose jobs come through a log of requests, too, and the first of them. */
const INGEST_EVERY = 20;
const INGEST = 5;
const INGEST_FROM = 305;
/** Number of partitions. */
const PARTITIONS = 5;
/** Largest number of records of a partition in one read. */
const READ_RECORDS = 20;
/** The log is down for the first part of every period until faults end, in simulated milliseconds. */
const PERIOD_MS = 300_000;
const DOWN_MS = 45_000;
/** Longest way to the log or back, and time after which a server no longer waits for an answer. */
const WAY_MS = 30;
const PATIENCE_MS = 3_000;

/** Whether jobs of a seed come through a log of requests, too. */
export function hasLog(seed: number): boolean {
  return seed % INGEST_EVERY === INGEST && seed >= INGEST_FROM;
}

/** A log of requests, once for all servers: slow, often down, with lost calls and lost answers, and sometimes created anew. */
export class LogSystem {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  #isCalm = false;
  #lives = 0;
  #topic = topicOf(0);
  #records: LogRecord[][] = Array.from({ length: PARTITIONS }, () => []);

  constructor(clock: VirtualClock, random: SeededRandom, history: History) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
  }

  get partitions(): number {
    return PARTITIONS;
  }

  /** Ends all faults. */
  calm(): void {
    this.#isCalm = true;
  }

  /** Deletes the topic with all records, and creates it again. */
  recreate(): void {
    this.#topic = topicOf(++this.#lives);
    this.#records = Array.from({ length: PARTITIONS }, () => []);
    this.#history.add({ kind: "LOG_RECREATED", topic: this.#topic });
  }

  /** Adds a record, as a producer does. @returns its offset */
  append({ partition, value, headers, at }: NewLogRecord): number {
    const records = this.#records[partition] as LogRecord[];
    const offset = records.length;
    records.push({ offset, timestamp: Math.floor(at), value, headers: new Map(Object.entries(headers)) });
    this.#history.add({ kind: "LOG_APPENDED", topic: this.#topic, partition, offset });
    return offset;
  }

  /** The log as a server's process sees it. A write arrives even if the process dies meanwhile. */
  log(process: SimProcess): RequestLog {
    return { openReader: async () => this.#reader(process), openWriter: async () => this.#writer(process) };
  }

  #reader(process: SimProcess): RequestLogReader {
    let topic: string | null = null;
    const known = () => topic === this.#topic;
    return {
      topic: () =>
        this.#call(process, () => {
          topic = this.#topic;
          return { id: this.#topic, partitions: PARTITIONS };
        }),
      read: async (positions, { waitMs }) => {
        const read = () =>
          positions.map((at): LogPortion => {
            if (!known()) return { at, state: "GONE" };
            const records = this.#records[at.partition] ?? [];
            if (at.offset > records.length) return { at, state: "OUT_OF_RANGE", start: 0, end: records.length };
            const some = records.slice(at.offset, at.offset + READ_RECORDS);
            return { at, state: "READ", records: some, next: at.offset + some.length };
          });
        const first = await this.#call(process, read);
        if (first.some((portion) => portion.state !== "READ" || portion.records.length > 0)) return first;
        await new Promise<void>((resolve) => process.plan(waitMs, resolve));
        return await this.#call(process, read);
      },
      end: (partition) => this.#call(process, () => this.#records[partition]?.length ?? 0),
      offsetAt: (partition, time) =>
        this.#call(process, () => this.#records[partition]?.find(({ timestamp }) => timestamp >= time)?.offset ?? null),
      close: () => undefined,
    };
  }

  #writer(process: SimProcess): RequestLogWriter {
    return {
      open: () => this.#call(process, () => ({ id: this.#topic, partitions: PARTITIONS })),
      send: (records) => {
        const sent = [...records];
        return this.#call(process, () => sent.map((record) => this.append(record)));
      },
      tellRefused: (refusals) => {
        const told = refusals.map(({ topic, partition, offset }) => ({ topic, partition, offset }));
        return this.#call(process, () => this.#history.add({ kind: "LOG_TOLD_REFUSED", records: told }));
      },
      close: () => undefined,
    };
  }

  #call<T>(process: SimProcess, run: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const fate = this.#isCalm ? 1 : this.#random.next();
      const way = () => this.#random.between(1, WAY_MS);
      // Some calls arrive after the server has stopped waiting.
      this.#clock.plan(fate < 0.01 ? PATIENCE_MS + way() : way(), () => {
        if (this.#isDown || (fate > 0.97 && fate < 1)) return;
        const answer = run();
        if (fate >= 0.04 || fate < 0.01) this.#clock.plan(way(), () => process.take(() => resolve(answer)));
      });
      process.plan(PATIENCE_MS, () => reject(new RequestLogUnavailable("no answer")));
    });
  }

  get #isDown(): boolean {
    return !this.#isCalm && this.#clock.nowMs % PERIOD_MS < DOWN_MS;
  }
}

/** UUID of a life of the topic. */
function topicOf(life: number): string {
  return `7091c000-0000-4000-8000-${life.toString(16).padStart(12, "0")}`;
}

/** Time of the log's producers. */
export function logTime(clock: VirtualClock): number {
  return Math.floor(EPOCH_MS + clock.nowMs);
}
