import type { JobId } from "../../domain/ids.ts";
import type { Input, Want } from "../../engine/inputs.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { FlowPage } from "../../ports/store-flows.ts";
import type { Recurrence, StoreRecurrences } from "../../ports/store-recurrences.ts";
import { FlowTurns, type ReadSizes } from "./flow-turns.ts";
import type { Reader } from "./hydrator.ts";

/** Time in ms before its next instant from which a plan is kept in memory. */
export const PLANS_AHEAD_MS = 10_000;
const DUE_PLANS_MAX = 100_000;
/**
 * Plans in memory above which a read of due plans is made only once in `MANY_SWEEPS` sweeps, because each read returns
 * those in memory as well.
 */
const MANY_PLANS = 5_000;
const MANY_SWEEPS = 5;
const PAGE = 1_000;
/** Interval in ms between two pages of a read of all plans that wait for an execution. */
const PAGE_EVERY_MS = 20;
/** Interval in ms at which plans that wait for an execution are read, in case the end of the execution was missed. */
const AWAITING_EVERY_MS = 10_000;
const RETRY_MS = 500;

type ReadPage = (after: JobId | null) => ReturnType<StoreRecurrences["readAwaiting"]>;
type PlanWant = Extract<Want, { kind: "LOAD_PLANS" | "FIRED" | "DUE_PLANS" }>;

/** Parts of the hydrator that the plan reader uses. */
export interface PlanReaderDependencies {
  recurrences: StoreRecurrences;
  runtime: Runtime;
  reader: Reader;
  sizes: ReadSizes;
  /** Passes the result of a read to the machine, with the mark of the read's beginning. */
  reading(read: (mark: { since: number; term: number }) => Promise<Input>): Promise<void>;
  failed(error: unknown): void;
}

/** Brings recurring jobs from the store into the machine. */
export class PlanReader {
  readonly #deps: PlanReaderDependencies;
  readonly #timers = new Map<"AWAITING" | "ZONES", Timer>();
  readonly #turns: FlowTurns<Recurrence>;
  #sweeps = 0;
  /** Whether the last sweep left plans that can be read immediately. */
  #more = false;
  #stopped = false;

  constructor(deps: PlanReaderDependencies) {
    this.#deps = deps;
    const { recurrences, runtime, reader } = deps;
    this.#turns = new FlowTurns(
      {
        flows: (after, limit) => recurrences.dueFlows(runtime.now() + PLANS_AHEAD_MS, after, limit),
        read: (pages, limit) => this.#readFlows(pages, limit),
        cursorOf: ({ jobId, plan }) => ({ dueAt: plan.nextFireAt ?? 0, id: jobId }),
        hasRoom: (flow) => reader.hasPlanRoom(flow),
      },
      deps.sizes.plansTurn,
    );
  }

  /** Reads the plans of shards that were just taken over. */
  begin(): void {
    void this.#readAwaiting(null);
    void this.#readOtherZones(null);
  }

  /** Reads plans that were made with other time zone data than is in force. */
  readOtherZones(): void {
    void this.#readOtherZones(null);
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers.values()) timer.cancel();
  }

  /** Reads plans that are due soon. Called once a second, and again while there are more. @returns whether there are more */
  async sweep(): Promise<boolean> {
    const isFew = this.#deps.reader.plans() <= MANY_PLANS;
    if (isFew || this.#more || this.#sweeps++ % MANY_SWEEPS === 0) this.#more = await this.#readDue();
    return this.#more;
  }

  read(want: PlanWant): Promise<void> {
    const { recurrences, reading } = this.#deps;
    switch (want.kind) {
      case "DUE_PLANS":
        return this.#readDue().then(() => undefined);
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

  /** Reads plans that are due soon: the earliest ones, and by turns of flows while there are more than one read returns. */
  async #readDue(): Promise<boolean> {
    if (!this.#turns.isActive && !(await this.#readEarliest())) return false;
    const { runtime } = this.#deps;
    const more = await this.#turns.look(runtime.now());
    return more ?? (await this.#readAllDue());
  }

  async #readFlows(pages: readonly FlowPage[], limit: number): Promise<Recurrence[][]> {
    const { recurrences, runtime, reader, reading } = this.#deps;
    const until = runtime.now() + PLANS_AHEAD_MS;
    let found: Recurrence[][] = [];
    await reading(async (mark) => {
      found = await recurrences.readDueFlows(reader.shards(), until, pages, limit);
      return { kind: "READ_PLANS", plans: found.flat(), isBounded: true, ...mark };
    });
    return found;
  }

  /** Reads all plans that are due soon, the earliest first, without turns. */
  async #readAllDue(): Promise<false> {
    const { reader } = this.#deps;
    for (let isFull = true; isFull && !this.#stopped; ) {
      const before = reader.plans();
      isFull = await this.#readEarliest();
      // A machine without room for more plans asks again when it has room.
      isFull &&= reader.plans() > before;
    }
    return false;
  }

  /** Reads the earliest plans. @returns whether there may be more */
  async #readEarliest(): Promise<boolean> {
    const { recurrences, runtime, reader, reading, sizes } = this.#deps;
    // The read starts with the earliest plan, as reads of executions do, so it repeats plans in memory.
    const limit = Math.min(reader.plans() + sizes.plans, DUE_PLANS_MAX);
    let isFull = false;
    await reading(async (mark) => {
      const plans = await recurrences.readDue(reader.shards(), runtime.now() + PLANS_AHEAD_MS, limit);
      isFull = plans.length >= limit;
      return { kind: "READ_PLANS", plans, isBounded: true, ...mark };
    });
    return isFull;
  }

  async #readAwaiting(after: JobId | null): Promise<void> {
    const { recurrences, reader } = this.#deps;
    const read: ReadPage = (from) => recurrences.readAwaiting(reader.shards(), from, PAGE);
    const next = await this.#tryPage(read, after, true);
    const delayMs = next === "FAILED" ? RETRY_MS : next === null ? AWAITING_EVERY_MS : PAGE_EVERY_MS;
    this.#later("AWAITING", delayMs, () => void this.#readAwaiting(next === "FAILED" ? after : next));
  }

  async #readOtherZones(after: JobId | null): Promise<void> {
    const { recurrences, reader } = this.#deps;
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
      if (!this.#stopped) this.#deps.failed(error);
      return "FAILED";
    }
  }

  /** @returns the last id of the page, behind which the next page begins; null: it was the last page */
  async #readPage(read: ReadPage, after: JobId | null, isBounded: boolean): Promise<JobId | null> {
    let next: JobId | null = null;
    await this.#deps.reading(async (mark) => {
      const plans = await read(after);
      next = plans.length < PAGE ? null : (plans.at(-1)?.jobId ?? null);
      return { kind: "READ_PLANS", plans, isBounded, ...mark };
    });
    return next;
  }

  #later(kind: "AWAITING" | "ZONES", delayMs: number, run: () => void): void {
    if (this.#stopped) return;
    this.#timers.get(kind)?.cancel();
    this.#timers.set(kind, this.#deps.runtime.setTimer(delayMs, run));
  }
}
