import type { JobId } from "../../domain/ids.ts";
import type { Input, Want } from "../../engine/inputs.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { StoreRecurrences } from "../../ports/store-recurrences.ts";
import type { Reader } from "./hydrator.ts";

/** Plans that are due so soon are brought into memory. */
export const PLANS_AHEAD_MS = 10_000;
const DUE_PLANS = 10_000;
const DUE_PLANS_MAX = 100_000;
/** Where so many are in memory, every look brings them along: it is worth one in so many sweeps only. */
const MANY_PLANS = 5_000;
const MANY_SWEEPS = 5;
const PAGE = 1_000;
/** Between two pages of a look at all plans that wait for something. */
const PAGE_EVERY_MS = 20;
/** How often what waits for an execution is looked at, for an end that was not heard of. */
const AWAITING_EVERY_MS = 10_000;
const RETRY_MS = 500;

type ReadPage = (after: JobId | null) => ReturnType<StoreRecurrences["readAwaiting"]>;
type PlanWant = Extract<Want, { kind: "LOAD_PLANS" | "FIRED" | "DUE_PLANS" }>;

/** Parts of the hydrator that the plan reader uses. */
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
    void this.#readAwaiting(null);
    void this.#readOtherZones(null);
  }

  /** Looks for plans that were made with other time zone data than is in force. */
  readOtherZones(): void {
    void this.#readOtherZones(null);
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

  async #readDue(): Promise<void> {
    const { recurrences, runtime, reader, reading } = this.#parts;
    for (let isFull = true; isFull && !this.#stopped; ) {
      // From the start, as with executions: those in memory come along.
      const before = reader.plans();
      const limit = Math.min(before + DUE_PLANS, DUE_PLANS_MAX);
      await reading(async (mark) => {
        const plans = await recurrences.readDue(reader.shards(), runtime.now() + PLANS_AHEAD_MS, limit);
        isFull = plans.length >= limit;
        return { kind: "READ_PLANS", plans, isBounded: true, ...mark };
      });
      // A machine that has no room for more says when it has.
      isFull &&= reader.plans() > before;
    }
  }

  async #readAwaiting(after: JobId | null): Promise<void> {
    const { recurrences, reader } = this.#parts;
    const read: ReadPage = (from) => recurrences.readAwaiting(reader.shards(), from, PAGE);
    const next = await this.#tryPage(read, after, true);
    const delayMs = next === "FAILED" ? RETRY_MS : next === null ? AWAITING_EVERY_MS : PAGE_EVERY_MS;
    this.#later("AWAITING", delayMs, () => void this.#readAwaiting(next === "FAILED" ? after : next));
  }

  async #readOtherZones(after: JobId | null): Promise<void> {
    const { recurrences, reader } = this.#parts;
    const tzdata = reader.tzdata();
    if (tzdata === null) return;
    const read: ReadPage = (from) => recurrences.readOtherZones(reader.shards(), tzdata, from, PAGE);
    const next = await this.#tryPage(read, after, false);
    if (next === "FAILED") this.#later("ZONES", RETRY_MS, () => void this.#readOtherZones(after));
    else if (next !== null) this.#later("ZONES", PAGE_EVERY_MS, () => void this.#readOtherZones(next));
  }

  async #tryPage(read: ReadPage, after: JobId | null, isBounded: boolean): Promise<JobId | null | "FAILED"> {
    try {
      return await this.#readPage(read, after, isBounded);
    } catch (error) {
      if (!this.#stopped) this.#parts.failed(error);
      return "FAILED";
    }
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

  #later(kind: "AWAITING" | "ZONES", delayMs: number, run: () => void): void {
    if (this.#stopped) return;
    this.#timers.get(kind)?.cancel();
    this.#timers.set(kind, this.#parts.runtime.setTimer(delayMs, run));
  }
}
