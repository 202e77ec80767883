import type { Logger } from "pino";
import type { Epoch, ShardId } from "../../domain/ids.ts";
import { shardOfPartition } from "../../domain/ingest.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Bus } from "../../ports/bus.ts";
import { cleanText } from "../../ports/clean-text.ts";
import type { ApiMetrics, Readings } from "../../ports/metrics.ts";
import {
  LOG_HEADERS,
  type LogPortion,
  type LogRecord,
  type LogTopic,
  type RequestLog,
  type RequestLogReader,
  RequestLogUnavailable,
} from "../../ports/request-log.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import type { DecidedRecord, StoreIngest } from "../../ports/store-ingest.ts";
import type { OpenRequest, RequestEnd } from "../../ports/store-requests.ts";
import { problemError } from "../http/error-answers.ts";
import { ProblemError, problem } from "../http/errors.ts";
import { readRecord } from "./log-record.ts";
import { RefusalTeller } from "./refusal-teller.ts";
import { type ChargingJudge, tellTaken } from "./request-taker.ts";

/** Bounds of a read. One read is taken in while the next one is under way, so twice the bytes are in memory. */
export const RECORD_READ_BOUNDS = { waitMs: 500, maxBytes: 4 * 1024 * 1024 };
/** Records, and bytes of their values, of one transaction. */
const STEP = { count: 1_000, bytes: 2 * 1024 * 1024 };
/** Largest number of partitions whose records are written at the same time. */
const PARTITIONS_AT_ONCE = 2;
/** Interval in ms of looks at the topic and at the positions in the store: a position may be set back, and a topic created again. */
const LOOK_EVERY_MS = 2_000;
/** Wait in ms while the node has no partition. */
const IDLE_MS = 250;
/** Longest content type that is kept of a refused record, in characters. */
const TYPE_CHARS_MAX = 255;
/** First and longest wait in ms after a failure. */
const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 2_000;

const EXPANDS = problem(
  "payload-too-large",
  "the record is in a compressed batch that expands to more than 8 MiB: send smaller batches",
);

export interface RecordTakerDependencies {
  /** Tenant of the topic now. */
  tenant: () => Tenant;
  requestLog: RequestLog;
  store: StoreIngest;
  judge: ChargingJudge;
  /** Shards that the node owns now. */
  owned: () => ReadonlyMap<ShardId, Epoch>;
  bus: Bus;
  runtime: Runtime;
  metrics: Pick<ApiMetrics, "submitted" | "requestsEnded" | "storeOutage">;
  log: Logger;
}

/** The topic was deleted or created again, or a position is another one than was believed: everything is read anew. */
class Changed extends Error {
  override readonly name = "Changed";
}

/**
 * Takes in the records of the log of requests: those of the partitions whose lowest shard the node owns. A node that still believes
 * to own a partition reads it in vain, because the store moves a position only from where it is.
 */
export class RecordTaker {
  readonly #deps: RecordTakerDependencies;
  readonly #teller: RefusalTeller;
  /** Offset of the next record to read, by partition. */
  readonly #next = new Map<number, number>();
  #topic: LogTopic | null = null;
  #lookedMs = 0;
  #isStopped = false;
  #running: Promise<void> | null = null;
  #timer: { timer: Timer; wake(): void } | null = null;
  #reader: RequestLogReader | null = null;
  #failures = 0;
  /** Transactions of the read before. */
  #taking: Promise<void> = Promise.resolve();
  #isUp = false;
  /** Records that the log no longer had when they were to be read. */
  #lost = 0;
  /** Time of the oldest record that was read and is not taken in; null: there is none. */
  #behindSince: number | null = null;

  constructor(deps: RecordTakerDependencies) {
    this.#deps = deps;
    this.#teller = new RefusalTeller(deps);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Ends the work, after the transactions in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.timer.cancel();
    this.#timer?.wake();
    this.#reader?.close();
    await this.#running;
    await this.#taking.catch(() => undefined);
    await this.#teller.stop();
  }

  readings(): Readings {
    const lagMs = this.#behindSince === null ? 0 : this.#deps.runtime.now() - this.#behindSince;
    return { ingestUp: this.#isUp ? 1 : 0, ingestLost: this.#lost, ingestLagSec: Math.max(0, lagMs) / 1_000 };
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#session();
      } catch (error) {
        await this.#failed(error);
      }
    }
  }

  async #failed(cause: unknown): Promise<void> {
    this.#reader?.close();
    this.#reader = null;
    this.#next.clear();
    await this.#taking.catch(() => undefined);
    this.#taking = Promise.resolve();
    if (this.#isStopped) return;
    if (cause instanceof Changed) return await this.#pause(RETRY_FIRST_MS);
    const { log, metrics } = this.#deps;
    if (cause instanceof StoreUnavailable) metrics.storeOutage();
    const refusal = cause instanceof RequestLogUnavailable ? cause.refusal : null;
    const told = { err: cause, ...(refusal !== null && { remedy: refusal }) };
    // The first failure is told, and then one in about a minute.
    if (this.#failures % 30 === 0)
      log.warn(told, "ingest: records could not be taken in, retrying; the log keeps them");
    this.#isUp = false;
    await this.#pause(Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(this.#failures++, 10)));
  }

  async #session(): Promise<void> {
    const reader = await this.#deps.requestLog.openReader();
    this.#reader = reader;
    this.#topic = (await reader.topic()) ?? (await this.#create(reader));
    this.#lookedMs = Number.NEGATIVE_INFINITY;
    while (!this.#isStopped) {
      const partitions = this.#ownPartitions();
      if (partitions.length === 0) {
        this.#next.clear();
        this.#isUp = true;
        await this.#taking;
        await this.#pause(IDLE_MS);
        continue;
      }
      await this.#look(reader, partitions);
      this.#teller.look(partitions);
      const asked = Array.from(this.#next, ([partition, offset]) => ({ partition, offset }));
      const [portions] = await Promise.all([reader.read(asked, RECORD_READ_BOUNDS), this.#taking]);
      if (this.#failures > 0) this.#deps.log.info("ingest: records are taken in again");
      this.#failures = 0;
      this.#isUp = true;
      for (const { at, ...portion } of portions) {
        if (portion.state === "READ") this.#next.set(at.partition, portion.next);
        // Each record of such a batch is refused by itself, because the next ones may be in another one.
        if (portion.state === "OVERSIZED") this.#next.set(at.partition, at.offset + 1);
      }
      this.#taking = this.#takeAll(portions);
      // The next read is under way meanwhile, and waits for the result after its own.
      this.#taking.catch(() => undefined);
    }
    await this.#taking;
  }

  async #create(reader: RequestLogReader): Promise<LogTopic> {
    const writer = await this.#deps.requestLog.openWriter();
    try {
      await writer.open();
    } finally {
      writer.close();
    }
    const topic = await reader.topic();
    if (topic === null) throw new RequestLogUnavailable("the topic of requests was created and does not show yet");
    return topic;
  }

  #ownPartitions(): number[] {
    const owned = this.#deps.owned();
    const all = Array.from({ length: this.#topic?.partitions ?? 0 }, (_, partition) => partition);
    return all.filter((partition) => owned.has(shardOfPartition(partition)));
  }

  /** Follows the shards of the node, the topic, and positions that were set back. */
  async #look(reader: RequestLogReader, partitions: readonly number[]): Promise<void> {
    const { runtime, store } = this.#deps;
    for (const partition of this.#next.keys()) if (!partitions.includes(partition)) this.#next.delete(partition);
    const isNew = partitions.some((partition) => !this.#next.has(partition));
    if (!isNew && runtime.monotonicMs() - this.#lookedMs < LOOK_EVERY_MS) return;
    // Positions are those of the store once nothing is being written.
    await this.#taking;
    const topic = await reader.topic();
    if (topic === null || topic.id !== this.#topic?.id) throw new Changed("the topic of requests is another one");
    this.#topic = topic;
    const wanted = partitions.filter((partition) => partition < topic.partitions);
    const known = new Map((await store.positions()).map((position) => [position.partition, position]));
    const others = wanted.filter((partition) => known.get(partition)?.topic !== topic.id);
    if (others.length > 0) {
      const left = others.filter((partition) => known.has(partition));
      if (left.length > 0)
        this.#deps.log.warn(
          { partitions: left },
          "ingest: the topic of requests was created anew; records that were in the former one are gone",
        );
      await store.open(topic.id, others);
      for (const position of await store.positions()) known.set(position.partition, position);
    }
    this.#next.clear();
    for (const partition of wanted) {
      const position = known.get(partition);
      if (position?.topic === topic.id) this.#next.set(partition, position.next);
    }
    this.#lookedMs = runtime.monotonicMs();
  }

  async #takeAll(portions: readonly LogPortion[]): Promise<void> {
    this.#behindSince = oldest(portions);
    const waiting = [...portions];
    const work = async () => {
      for (let portion = waiting.shift(); portion !== undefined; portion = waiting.shift()) await this.#take(portion);
    };
    await Promise.all(Array.from({ length: PARTITIONS_AT_ONCE }, work));
    this.#behindSince = null;
  }

  async #take(portion: LogPortion): Promise<void> {
    const { partition, offset } = portion.at;
    switch (portion.state) {
      case "READ":
        if (portion.next > offset) await this.#takeRecords(partition, offset, portion.records, portion.next);
        return;
      case "OUT_OF_RANGE":
        return await this.#outOfRange(partition, offset, portion);
      case "GONE":
        throw new Changed("the topic of requests is gone");
      case "MOVED":
        return;
      case "OVERSIZED":
        return await this.#refuse(partition, offset, unread(offset), offset + 1, new ProblemError(EXPANDS));
    }
  }

  async #takeRecords(partition: number, from: number, records: readonly LogRecord[], next: number): Promise<void> {
    let at = from;
    for (const step of stepsOf(records)) {
      const isLast = step.at(-1) === records.at(-1);
      const after = isLast ? next : (step.at(-1) as LogRecord).offset + 1;
      await this.#takeStep(partition, at, step, after);
      at = after;
    }
    if (records.length === 0) await this.#takeStep(partition, from, [], next);
  }

  /** A record for which the program fails is refused alone, so that it stops no partition. */
  async #takeStep(partition: number, from: number, records: readonly LogRecord[], next: number): Promise<void> {
    try {
      const decided = await this.#decide(this.#topic?.id ?? "", partition, records);
      const waiting = records[decided.length];
      if (waiting === undefined) return await this.#write(partition, from, decided, next);
      if (decided.length > 0) await this.#write(partition, from, decided, waiting.offset);
      throw new Changed("the next record waits for a quota of its tenant");
    } catch (error) {
      const [first] = records;
      if (error instanceof StoreUnavailable || error instanceof Changed || first === undefined) throw error;
      if (records.length === 1) return await this.#refuse(partition, from, first, next, error);
      let at = from;
      for (const record of records) {
        const after = record === records.at(-1) ? next : record.offset + 1;
        await this.#takeStep(partition, at, [record], after);
        at = after;
      }
    }
  }

  async #refuse(partition: number, from: number, record: LogRecord, next: number, cause: unknown): Promise<void> {
    const { runtime, log } = this.#deps;
    const { offset, timestamp } = record;
    const { id } = readRecord(this.#deps.tenant(), this.#topic?.id ?? "", partition, record, runtime.now());
    const decision: RequestEnd = { state: "REFUSED", problem: JSON.stringify(problemError(cause, log).problem) };
    await this.#write(partition, from, [{ offset, id, decision, timestamp, contentType: null, value: null }], next);
  }

  async #write(partition: number, from: number, records: readonly DecidedRecord[], next: number): Promise<void> {
    const { store, judge } = this.#deps;
    const decisions = records.map(({ decision }) => decision);
    const portion = { partition, topic: this.#topic?.id ?? "", from, next, records };
    const taken = await store.takeIn(portion, judge).catch((error: unknown) => {
      judge.settle?.(decisions, null);
      throw error;
    });
    judge.settle?.(decisions, taken ?? []);
    if (taken === null) throw new Changed("the position is another one");
    await tellTaken(taken, this.#deps);
    if (taken.some(({ end }) => end.state === "REFUSED")) this.#teller.wake();
  }

  async #decide(topic: string, partition: number, records: readonly LogRecord[]): Promise<DecidedRecord[]> {
    const { judge, runtime } = this.#deps;
    const now = runtime.now();
    const tenant = this.#deps.tenant();
    const read = records.map((record) => readRecord(tenant, topic, partition, record, now));
    const requests = read.flatMap((one): OpenRequest[] => ("request" in one ? [one.request] : []));
    const decisions = await judge.decide(requests);
    let place = 0;
    const decided: DecidedRecord[] = [];
    for (const [i, one] of read.entries()) {
      const { offset, timestamp, value, headers } = records[i] as LogRecord;
      const decision = "refused" in one ? one.refused : decisions[place++];
      // This record waits for a quota, and the log keeps it and all behind it until then.
      if (decision === undefined) break;
      const type = headers.get(LOG_HEADERS.contentType);
      const contentType = type === undefined ? null : cleanText(type, TYPE_CHARS_MAX);
      decided.push({ offset, id: one.id, decision, timestamp, contentType, value });
    }
    return decided;
  }

  /** Goes to where the log has records. */
  async #outOfRange(partition: number, from: number, { start, end }: { start: number; end: number }): Promise<void> {
    const { store, log, judge } = this.#deps;
    const topic = this.#topic?.id ?? "";
    if (from < start) {
      const taken = await store.takeIn({ partition, topic, from, next: start, records: [] }, judge);
      if (taken === null) throw new Changed("the position is another one");
      this.#lost += start - from;
      const lost = start - from;
      log.warn({ partition, from, to: start, lost }, "ingest: the log has dropped records before they were taken in");
    } else {
      await store.rewind({ partition, topic, from, to: start });
      log.warn({ partition, from, end }, "ingest: the log has lost its end, and is read again from its start");
    }
    throw new Changed("the position is another one");
  }

  #pause(ms: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#deps.runtime.setTimer(ms, resolve);
      this.#timer = { timer, wake: resolve };
    });
  }
}

/** Stands for a record that could not be read. */
function unread(offset: number): LogRecord {
  return { offset, timestamp: 0, value: null, headers: new Map() };
}

/** Parts of a portion that are written in one transaction each. */
function stepsOf(records: readonly LogRecord[]): LogRecord[][] {
  const steps: LogRecord[][] = [];
  let bytes = 0;
  for (const record of records) {
    const own = record.value?.length ?? 0;
    const step = steps.at(-1);
    if (step === undefined || step.length >= STEP.count || bytes + own > STEP.bytes) {
      steps.push([record]);
      bytes = own;
    } else {
      step.push(record);
      bytes += own;
    }
  }
  return steps;
}

function oldest(portions: readonly LogPortion[]): number | null {
  const times = portions.flatMap((portion) => (portion.state === "READ" ? portion.records.slice(0, 1) : []));
  return times.length === 0 ? null : Math.min(...times.map(({ timestamp }) => timestamp));
}
