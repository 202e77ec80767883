import type { StoreEvent } from "@mainspring/server/testing";
import type { SimEvent } from "../history.ts";
import { EPOCH_MS } from "../sim-process.ts";
import { type Checker, Violation } from "./checker.ts";

type Ingested = Extract<StoreEvent, { kind: "INGESTED" }>;
type Rewound = Extract<StoreEvent, { kind: "INGEST_REWOUND" }>;

/** Time in ms in which a record is decided once faults have ended, and in which a refusal is told. */
const LATE_MS = 90_000;

/**
 * Each record of the log of requests is taken in exactly once, or refused, which the log is told. Positions move forward, over
 * decided records, from where they are; only a seek sets one back. A replay writes no job.
 */
export class RecordsAreTakenInOnce implements Checker {
  readonly name = "records are taken in once";
  /** Records of the present topic that are not decided, with the times of their writing. */
  #open = new Map<string, number>();
  #appended = new Set<string>();
  #topic: string | null = null;
  #isFirstTopic = true;
  readonly #positions = new Map<string, number>();
  readonly #decided = new Map<string, "TAKEN_IN" | "REFUSED">();
  /** Refusals that the log was not told of, with their times. */
  readonly #untold = new Map<string, number>();
  readonly #written = new Set<string>();
  #nowMs = 0;

  saw(event: StoreEvent): void {
    if (event.kind === "INGEST_REWOUND") this.#rewound(event);
    if (event.kind === "INGESTED") this.#ingested(event);
  }

  noticed(event: SimEvent): void {
    this.#nowMs = event.atMs;
    if (event.kind === "LOG_APPENDED") {
      this.#topic ??= event.topic;
      const record = `${event.topic} ${event.partition} ${event.offset}`;
      this.#appended.add(record);
      this.#open.set(record, event.atMs);
    }
    if (event.kind === "LOG_RECREATED") {
      this.#topic = event.topic;
      this.#isFirstTopic = false;
      this.#open = new Map();
      this.#appended = new Set();
    }
    // An answer about the former topic may come after the change.
    if (event.kind === "LOG_ACCEPTED" && this.#isFirstTopic) {
      if (!this.#appended.has(`${this.#topic} ${event.request.replace("-", " ")}`))
        throw new Violation(`the API has accepted ${event.request}, and the log has no such record`);
    }
    if (event.kind === "LOG_TOLD_REFUSED")
      for (const told of event.records) this.#untold.delete(`${told.topic} ${told.partition} ${told.offset}`);
  }

  atEnd(): void {
    for (const [record, atMs] of this.#open)
      if (atMs < this.#nowMs - LATE_MS) throw new Violation(`nobody has decided the record ${record}`);
    for (const [record, atMs] of this.#untold)
      if (atMs < this.#nowMs - LATE_MS)
        throw new Violation(`the log was not told that the record ${record} is refused`);
  }

  #rewound({ topic, partition, from, to }: Rewound): void {
    const at = `${topic} ${partition}`;
    if ((this.#positions.get(at) ?? 0) !== from || to > from)
      throw new Violation(`the position of ${at} goes from ${from} back to ${to}, and was elsewhere`);
    this.#positions.set(at, to);
  }

  #ingested(event: Ingested): void {
    const { from, next } = event;
    const at = `${event.topic} ${event.partition}`;
    const was = this.#positions.get(at) ?? 0;
    if (was !== from || next < from)
      throw new Violation(`the position of ${at} moves from ${from} to ${next}, and was ${was}`);
    this.#positions.set(at, next);
    for (const [i, offset] of event.offsets.entries()) {
      if (offset < from || offset >= next)
        throw new Violation(`the record ${at} ${offset} is decided, and the position moves past others`);
      this.#taken(`${at} ${offset}`, event.taken[i] as Ingested["taken"][number], event.at - EPOCH_MS);
    }
    for (let offset = from; offset < next; offset++) {
      const record = `${at} ${offset}`;
      if (this.#appended.has(record) && !this.#decided.has(record))
        throw new Violation(`the position of ${at} moves past the record ${offset}, which nobody has decided`);
    }
  }

  #taken(record: string, { end, submitted }: Ingested["taken"][number], atMs: number): void {
    if (this.#decided.get(record) === "TAKEN_IN")
      throw new Violation(`the record ${record} was taken in, and is again`);
    this.#decided.set(record, end.state === "TAKEN_IN" ? "TAKEN_IN" : "REFUSED");
    this.#open.delete(record);
    if (end.state === "REFUSED") this.#untold.set(record, atMs);
    else this.#untold.delete(record);
    const outcome = submitted?.outcome;
    if (end.state !== "TAKEN_IN" || outcome?.kind !== "ACCEPTED" || outcome.replayed || end.deduplicated) return;
    if (this.#written.has(end.jobId)) throw new Violation(`the job ${end.jobId} was written for two records`);
    this.#written.add(end.jobId);
  }
}
