import { type Flow, flowName } from "../../domain/flow.ts";
import type { EpochMs } from "../../domain/ids.ts";
import { compareDue, type DueCursor, type FlowPage } from "../../ports/store-flows.ts";

/** Fewest and most rows of a flow that one look reads. */
const PAGE_MIN = 20;
const PAGE_MAX = 5_000;
/** Interval in ms at which the first rows of a flow are read again, in case a row was committed late, behind the cursor. */
const FRONT_EVERY_MS = 1_000;

/** Numbers of rows that a read brings. */
export interface ReadSizes {
  /** Waiting executions, beyond the number of executions in memory, that a read in the order of due times brings. */
  waiting: number;
  /** Waiting executions that a look by turns reads. */
  waitingTurn: number;
  /** Plans, beyond the number in memory, that a read in the order of instants brings. */
  plans: number;
  /** Plans that a look by turns reads. */
  plansTurn: number;
}

export const READ_SIZES: ReadSizes = { waiting: 5_000, waitingTurn: 10_000, plans: 10_000, plansTurn: 2_000 };

/** Reads of the rows that turns are about: executions, or plans. */
export interface FlowSource<Row> {
  /** Flows with rows that are due soon, as `Store.waitingFlows`; null: the store cannot tell yet. */
  flows(after: Flow | null, limit: number): Promise<Flow[] | null>;
  /** Reads pages, passes the rows to the machine, and returns them by page. */
  read(pages: readonly FlowPage[], limit: number): Promise<Row[][]>;
  cursorOf(row: Row): DueCursor;
  /** Whether the machine has room for more rows of the flow. */
  hasRoom(flow: Flow): boolean;
}

interface Progress {
  flow: Flow;
  /** Position behind which the flow has more rows; null: all its rows were read. */
  after: DueCursor | null;
  /** Time of the last read of the flow's first rows. */
  frontAt: EpochMs;
}

/**
 * Reads rows that are due soon by turns of flows: a page of each flow, and then the next page of each. So the rows of a flow are found in
 * time, however many rows of other flows are due before them.
 */
export class FlowTurns<Row> {
  readonly #source: FlowSource<Row>;
  /** Rows that one look reads. */
  readonly #rows: number;
  readonly #progress = new Map<string, Progress>();
  /** Flow behind which the next look begins; null: with the first flow. */
  #after: Flow | null = null;
  #seen = new Set<string>();
  #isActive = false;
  #isLooking = false;

  constructor(source: FlowSource<Row>, rows: number) {
    this.#source = source;
    this.#rows = rows;
  }

  /** Whether turns go on, because some flow had more rows than a look reads. */
  get isActive(): boolean {
    return this.#isActive;
  }

  /** Reads the next pages. @returns whether more can be read immediately; null: the store has no index for turns yet */
  async look(now: EpochMs): Promise<boolean | null> {
    if (this.#isLooking) return false;
    this.#isLooking = true;
    try {
      return await this.#look(now);
    } finally {
      this.#isLooking = false;
    }
  }

  async #look(now: EpochMs): Promise<boolean | null> {
    const limit = Math.floor(this.#rows / PAGE_MIN);
    const flows = await this.#source.flows(this.#after, limit);
    if (flows === null) return null;
    const pages = flows.map((flow) => this.#pageOf(flow, now)).filter((page) => page !== null);
    if (pages.length > 0) await this.#read(pages, now);
    for (const flow of flows) this.#seen.add(flowName(flow));
    this.#after = flows.length < limit ? null : (flows.at(-1) ?? null);
    if (this.#after !== null) return (this.#isActive = true);
    this.#endRound();
    return [...this.#progress.values()].some(({ flow, after }) => after !== null && this.#source.hasRoom(flow));
  }

  /** The next page of a flow; null: nothing of the flow is to be read now. */
  #pageOf(flow: Flow, now: EpochMs): FlowPage | null {
    const { after, frontAt } = this.#progressOf(flow);
    // A negative interval: the clock was set back.
    if (now - frontAt >= FRONT_EVERY_MS || now < frontAt) return { flow, after: null };
    return after !== null && this.#source.hasRoom(flow) ? { flow, after } : null;
  }

  async #read(pages: readonly FlowPage[], now: EpochMs): Promise<void> {
    const limit = Math.max(PAGE_MIN, Math.min(Math.floor(this.#rows / pages.length), PAGE_MAX));
    const found = await this.#source.read(pages, limit);
    for (const [index, { flow, after }] of pages.entries()) {
      const progress = this.#progressOf(flow);
      const rows = found[index] ?? [];
      const last = rows.at(-1);
      const end = last === undefined || rows.length < limit ? null : this.#source.cursorOf(last);
      if (after === null) progress.frontAt = now;
      // The first rows were read again: turns go on where they were.
      const isBehind = after === null && end !== null && progress.after !== null && compareDue(end, progress.after) < 0;
      if (!isBehind) progress.after = end;
      this.#progress.set(flowName(flow), progress);
    }
  }

  /** Forgets the flows that have no more rows. */
  #endRound(): void {
    for (const name of this.#progress.keys()) if (!this.#seen.has(name)) this.#progress.delete(name);
    this.#seen = new Set();
    this.#isActive = [...this.#progress.values()].some(({ after }) => after !== null);
    if (!this.#isActive) this.#progress.clear();
  }

  #progressOf(flow: Flow): Progress {
    return this.#progress.get(flowName(flow)) ?? { flow, after: null, frontAt: Number.NEGATIVE_INFINITY };
  }
}
