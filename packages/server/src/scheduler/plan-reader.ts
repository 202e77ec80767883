import type { JobId } from "../domain/ids.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { StoreRecurrences } from "../ports/store-recurrences.ts";
import type { Input, Want } from "../shard/inputs.ts";
import type { Reader } from "./hydrator.ts";

/** Plans that are due so soon are brought into memory. */
const AHEAD_MS = 10_000;
const DUE_PLANS = 5_000;
const DUE_PLANS_MAX = 100_000;
/** Where so many are in memory, every look brings them along: it is worth one in so many sweeps only. */
const MANY_PLANS = 10_000;
const MANY_SWEEPS = 5;
const PAGE = 1_000;
/** Between two pages of a look at all plans that wait for something. */
const PAGE_EVERY_MS = 20;
/** How often what waits for an execution is looked at, for an end that was not heard of. */
const AWAITING_EVERY_MS = 10_000;
const RETRY_MS = 500;

type ReadPage = (after: JobId | null) => ReturnType<StoreRecurrences["readAwaiting"]>;
type PlanWant = Extract<Want, { kind: "LOAD_PLANS" | "FIRED" | "DUE_PLANS" }>;

/** What of reading from the store this is a part of. */
export interface PlanReaderParts {
  recurrences: StoreRecurrences;
  runtime: Runtime;
  reader: Reader;
  /** Hands what was read to the machine, with the mark of when the read began. */
  reading(read: (mark: { since: number; term: number }) => Promise<Input>): Promise<void>;
  failed(error: unknown): void;
}

/** Brings recurring jobs from the store into the machine. */
export class PlanReader {
  readonly #parts: PlanReaderParts;
  readonly #timers = new Map<"AWAITING" | "ZONES", Timer>();
  #sweeps = 0;
  #stopped = false;

  constructor(parts: PlanReaderParts) {
    this.#parts = parts;
  }

  /** There are shards whose plans were not looked at. */
  begin(): void {
    this.#readAwaiting(null);
    this.#readOtherZones(null);
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers.values()) timer.cancel();
  }

  /** Once a second: what is due soon. */
  async sweep(): Promise<void> {
    const isFew = this.#parts.reader.plans() <= MANY_PLANS;
    if (isFew || this.#sweeps++ % MANY_SWEEPS === 0) await this.#readDue();
  }

  read(want: PlanWant): Promise<void> {
    const { recurrences, reading } = this.#parts;
    switch (want.kind) {
      case "DUE_PLANS":
        return this.#readDue();
      case "LOAD_PLANS":
        return reading(async (mark) => {
          const { jobIds: asked, ask } = want;
          return { kind: "LOADED_PLANS", asked, ask, plans: await recurrences.load(asked), ...mark };
        });
      case "FIRED":
        return reading(async (mark) => {
          const { jobId, question } = want;
          const instants = await recurrences.firedInstants(jobId, question.since, question.until);
          return { kind: "READ_FIRED", jobId, question, instants, ...mark };
        });
    }
  }

  #readDue(): Promise<void> {
    const { recurrences, runtime, reader, reading } = this.#parts;
    // From the start, as with executions: those in memory come along.
    const limit = Math.min(reader.plans() + DUE_PLANS, DUE_PLANS_MAX);
    let isFull = false;
    return reading(async (mark) => {
      const plans = await recurrences.readDue(reader.shards(), runtime.now() + AHEAD_MS, limit);
      isFull = plans.length >= limit;
      return { kind: "READ_PLANS", plans, isBounded: true, ...mark };
    }).then(() => {
      const hasRoom = isFull && !this.#stopped && reader.plans() < limit;
      return hasRoom ? this.#readDue() : undefined;
    });
  }

  #readAwaiting(after: JobId | null): void {
    const { recurrences, reader } = this.#parts;
    const read: ReadPage = (from) => recurrences.readAwaiting(reader.shards(), from, PAGE);
    void this.#readPage(read, after, true).then(
      (next) => {
        const delayMs = next === null ? AWAITING_EVERY_MS : PAGE_EVERY_MS;
        this.#later("AWAITING", delayMs, () => this.#readAwaiting(next));
      },
      (error: unknown) => this.#again("AWAITING", error, () => this.#readAwaiting(after)),
    );
  }

  #readOtherZones(after: JobId | null): void {
    const { recurrences, reader } = this.#parts;
    const read: ReadPage = (from) => recurrences.readOtherZones(reader.shards(), reader.tzdata, from, PAGE);
    void this.#readPage(read, after, false).then(
      (next) => {
        if (next !== null) this.#later("ZONES", PAGE_EVERY_MS, () => this.#readOtherZones(next));
      },
      (error: unknown) => this.#again("ZONES", error, () => this.#readOtherZones(after)),
    );
  }

  /** @returns where the next page begins; null: it was the last */
  async #readPage(read: ReadPage, after: JobId | null, isBounded: boolean): Promise<JobId | null> {
    let next: JobId | null = null;
    await this.#parts.reading(async (mark) => {
      const plans = await read(after);
      next = plans.length < PAGE ? null : (plans.at(-1)?.jobId ?? null);
      return { kind: "READ_PLANS", plans, isBounded, ...mark };
    });
    return next;
  }

  #again(kind: "AWAITING" | "ZONES", error: unknown, run: () => void): void {
    if (this.#stopped) return;
    this.#parts.failed(error);
    this.#later(kind, RETRY_MS, run);
  }

  #later(kind: "AWAITING" | "ZONES", delayMs: number, run: () => void): void {
    if (this.#stopped) return;
    this.#timers.get(kind)?.cancel();
    this.#timers.set(kind, this.#parts.runtime.setTimer(delayMs, run));
  }
}
