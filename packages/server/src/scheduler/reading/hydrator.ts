import type { Logger } from "pino";
import type { Candidate } from "../../domain/execution.ts";
import type { Flow } from "../../domain/flow.ts";
import type { ExecutionId, ShardId } from "../../domain/ids.ts";
import type { Input, ReadMark, Want } from "../../engine/inputs.ts";
import { CountedWarnings } from "../../ports/counted-warnings.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { FlowPage } from "../../ports/store-flows.ts";
import { FlowTurns, READ_SIZES, type ReadSizes } from "./flow-turns.ts";
import { PLANS_AHEAD_MS, PlanReader } from "./plan-reader.ts";
import type { PoolReader } from "./pool-reader.ts";
import type { References } from "./references.ts";
import { RunReader } from "./run-reader.ts";
import { RunSweep } from "./run-sweep.ts";
import type { WaitingRows } from "./waiting-rows.ts";

/** Interval in ms of the sweeps that find what lost hints did not announce. */
const SWEEP_EVERY_MS = 1_000;
/** Time in ms before its due time from which a row is read, which covers the time until the sweep after next. */
const AHEAD_MS = 3 * SWEEP_EVERY_MS;
const LANE_ROWS = 1_000;
const COMMAND_ROWS = 1_000;
const INBOX_ROWS = 2_000;
/** Open commands that are kept in memory. Each read sends their ids to the store. */
const COMMANDS_MAX = 20_000;
const RETRY_MS = 500;

type WaitingAsked = Parameters<Store["readWaiting"]>;

/** Operations of the commit loop that the hydrator uses. */
export interface Reader {
  /** Passes an input to the machine. */
  take(input: Input): void;
  /** Shards that this node owns now. */
  shards(): ShardId[];
  readBegins(): ReadMark;
  readEnds(mark: ReadMark): void;
  /** Number of executions in memory. */
  size(): number;
  /** Reads of waiting rows that ask the window beside the store first; left out: the store is read. */
  readonly waiting?: Pick<WaitingRows, "read"> | undefined;
  /** Ids of open commands that the machine has. */
  commands(): ReadonlySet<string>;
  /** Ids of events in the inbox that the machine is taking out of it. */
  inbox(): ReadonlyMap<string, number>;
  /** Whether the machine has room for more executions of the flow that wait for their time. */
  hasRoom(flow: Flow): boolean;
  /** Number of recurring jobs in memory. */
  plans(): number;
  /** Whether the machine has room for more recurring jobs of the flow. */
  hasPlanRoom(flow: Flow): boolean;
  /** Fills in outputs of runs, and counts items of maps. */
  readonly references: Pick<References, "resolve" | "count">;
  /** Receives the settings of pools that a poll returns. */
  readonly pools: Pick<PoolReader, "begin">;
  /** Whether the machine knows of open workflow runs. */
  hasRuns(): boolean;
  /** Tag of the time zone data in force, as plans contain it; null: there is no changeover yet. */
  tzdata(): string | null;
}

/**
 * Brings executions from the store into the machine: those that it asks for, and once a second those that it may have
 * missed.
 */
export class Hydrator {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #log: Logger;
  /** Counts repeated warnings, because a slow store fails many reads at once. */
  readonly #warnings: CountedWarnings;
  readonly #reader: Reader;
  readonly #sizes: ReadSizes;
  readonly #plans: PlanReader;
  readonly #turns: FlowTurns<Candidate>;
  readonly #runs: RunSweep;
  readonly #runReader: RunReader;
  #timer: Timer | null = null;
  #stopped = false;
  #lanesAfter: number | null = null;
  #looking = false;
  #inboxIsShut = false;

  constructor(store: Store, runtime: Runtime, log: Logger, reader: Reader, sizes: ReadSizes = READ_SIZES) {
    this.#store = store;
    this.#runtime = runtime;
    this.#log = log;
    this.#warnings = new CountedWarnings(log, runtime);
    this.#reader = reader;
    this.#sizes = sizes;
    this.#turns = new FlowTurns(
      {
        flows: (after, limit) => store.waitingFlows(runtime.now() + AHEAD_MS, after, limit),
        read: (pages, limit) => this.#readFlows(pages, limit),
        cursorOf: ({ dueAt, id }) => ({ dueAt, id }),
        hasRoom: (flow) => reader.hasRoom(flow),
      },
      sizes.waitingTurn,
    );
    this.#runs = new RunSweep({ store, runtime, shards: () => reader.shards(), take: (input) => reader.take(input) });
    this.#runReader = new RunReader(store, runtime);
    this.#plans = new PlanReader({
      recurrences: store.recurrences,
      runtime,
      reader,
      sizes,
      reading: (read) => this.#reading(read),
      failed: (error) => this.#log.warn({ err: error }, "the scheduler could not read recurring jobs and tries again"),
    });
  }

  start(): void {
    this.#plans.begin();
    void this.#sweep();
  }

  /** Reads immediately, because shards were just taken over. */
  hurry(): void {
    this.#plans.begin();
    this.#runs.begin();
    if (this.#timer === null) return;
    this.#timer.cancel();
    this.#timer = null;
    void this.#sweep();
  }

  /** Reads plans that must follow other time zone data. */
  lookForOtherZones(): void {
    this.#plans.readOtherZones();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#plans.stop();
  }

  /**
   * Carries out a read that the machine asked for. A failed read is repeated until it succeeds or the hydrator is
   * stopped.
   */
  read(want: Want): void {
    this.#read(want).catch((error: unknown) => {
      if (this.#stopped) return;
      this.#warnings.warn(
        { err: error },
        "the scheduler could not read executions or plans from the store and tries again",
      );
      this.#runtime.setTimer(RETRY_MS, () => {
        if (!this.#stopped) this.read(want);
      });
    });
  }

  #read(want: Want): Promise<void> {
    switch (want.kind) {
      case "READY":
        return this.#readReady(want);
      case "LOAD":
        return this.#load(want.ids);
      case "LOAD_RUNS":
        return this.#loadRuns(want.runs);
      case "OUTPUT":
        return this.#fillOutput(want);
      case "COUNT_ITEMS":
        return this.#countItems(want);
      case "LOAD_PLANS":
      case "FIRED":
      case "DUE_PLANS":
        return this.#plans.read(want);
    }
  }

  async #loadRuns(asked: ExecutionId[]): Promise<void> {
    await this.#reading(async (mark) => {
      return { kind: "LOADED_RUNS", asked, runs: await this.#runReader.read(asked), ...mark };
    });
  }

  async #fillOutput({ run, stored }: Extract<Want, { kind: "OUTPUT" }>): Promise<void> {
    const [output] = await this.#reader.references.resolve([{ run, item: null, stored }]);
    if (!this.#stopped && output !== undefined) this.#reader.take({ kind: "OUTPUT", run, output });
  }

  async #countItems({ run, node, source }: Extract<Want, { kind: "COUNT_ITEMS" }>): Promise<void> {
    const items = await this.#reader.references.count(run, source);
    if (!this.#stopped) this.#reader.take({ kind: "COUNTED", run, count: { node, items } });
  }

  async #readReady(want: Extract<Want, { kind: "READY" }>): Promise<void> {
    const { laneHash, after, limit } = want;
    await this.#reading(async (mark) => {
      const rows = await this.#store.readReady(this.#reader.shards(), laneHash, after, limit);
      return { kind: "READ_READY", laneHash, after, rows, full: rows.length >= limit, ...mark };
    });
  }

  async #load(ids: string[]): Promise<void> {
    await this.#reading(async (mark) => {
      const rows = await this.#store.load(ids);
      return { kind: "LOADED", asked: ids, rows, ...mark };
    });
  }

  async #reading(read: (mark: ReadMark) => Promise<Input>): Promise<void> {
    const mark = this.#reader.readBegins();
    try {
      const input = await read(mark);
      if (!this.#stopped) this.#reader.take(input);
    } finally {
      this.#reader.readEnds(mark);
    }
  }

  async #sweep(): Promise<void> {
    this.#timer = null;
    let nextMs = SWEEP_EVERY_MS;
    try {
      if (await this.#lookAround()) nextMs = 10;
    } catch (error) {
      if (!this.#stopped)
        this.#log.warn({ err: error }, "the scheduler could not look for work in the store and tries again");
    }
    if (!this.#stopped) this.#timer = this.#runtime.setTimer(nextMs, () => void this.#sweep());
  }

  /**
   * Polls the store first, because most of the time most reads would find nothing.
   * @returns whether more rows are due
   */
  async #lookAround(): Promise<boolean> {
    const now = this.#runtime.now();
    const ahead = { dueUntil: now + AHEAD_MS, firesUntil: now + PLANS_AHEAD_MS };
    const poolsRead = this.#reader.pools.begin();
    const summary = await this.#store.poll(this.#reader.shards(), ahead);
    poolsRead(summary.pools);
    let full = summary.waiting && (await this.#readWaiting());
    if (summary.ready) await this.#readLanes();
    else this.#lanesAfter = null;
    if (summary.plans && (await this.#plans.sweep())) full = true;
    if (summary.commands && (await this.#readCommands())) full = true;
    if (summary.events && (await this.#readInbox())) full = true;
    if (this.#reader.hasRuns()) await this.#runs.look();
    return full;
  }

  /**
   * Reads waiting rows: the earliest ones, and by turns of flows while there are more than one read returns.
   * @returns whether more rows are due
   */
  async #readWaiting(): Promise<boolean> {
    if (!this.#turns.isActive && !(await this.#readEarliest())) return false;
    return (await this.#turns.look(this.#runtime.now())) ?? true;
  }

  async #readFlows(pages: readonly FlowPage[], limit: number): Promise<Candidate[][]> {
    const dueUntil = this.#runtime.now() + AHEAD_MS;
    let found: Candidate[][] = [];
    await this.#reading(async (mark) => {
      found = await this.#store.readFlows(this.#reader.shards(), dueUntil, pages, limit);
      return { kind: "READ_WAITING", rows: found.flat(), ...mark };
    });
    return found;
  }

  /** Reads the earliest waiting rows. @returns whether there may be more */
  async #readEarliest(): Promise<boolean> {
    // The read starts with the earliest row and repeats rows in memory, because a cursor could pass over a slow
    // transaction.
    const limit = Math.min(this.#reader.size() + this.#sizes.waiting, 100_000);
    let full = false;
    await this.#reading(async (mark) => {
      const { waiting = { read: (...asked: WaitingAsked) => this.#store.readWaiting(...asked) } } = this.#reader;
      const rows = await waiting.read(this.#reader.shards(), this.#runtime.now() + AHEAD_MS, limit);
      full = rows.length >= limit;
      return { kind: "READ_WAITING", rows, ...mark };
    });
    return full;
  }

  /** Reads commands immediately: commands for plans and runs are applied in the order of the inbox, not of their messages. */
  lookForCommands(): void {
    if (this.#looking) return;
    this.#looking = true;
    void this.#readCommands()
      .catch((error: unknown) =>
        this.#log.warn({ err: error }, "the scheduler could not read commands and tries again"),
      )
      .finally(() => (this.#looking = false));
  }

  /**
   * Reads new commands. Commands may stay open for minutes, so the read leaves out those that the machine has.
   * @returns whether there are more
   */
  async #readCommands(): Promise<boolean> {
    const known = this.#reader.commands();
    const isFull = known.size >= COMMANDS_MAX;
    if (isFull && !this.#inboxIsShut)
      this.#log.warn({ open: known.size }, "the scheduler reads no more commands until some of the open ones are done");
    this.#inboxIsShut = isFull;
    if (isFull) return false;
    let full = false;
    await this.#reading(async () => {
      const commands = await this.#store.readCommands(this.#reader.shards(), known, COMMAND_ROWS);
      full = commands.length >= COMMAND_ROWS;
      return { kind: "COMMANDS", commands };
    });
    return full;
  }

  /** Reads which events wait in the inbox. @returns whether there are more */
  async #readInbox(): Promise<boolean> {
    const known = new Set(this.#reader.inbox().keys());
    const rows = await this.#store.events.readInbox(this.#reader.shards(), known, INBOX_ROWS);
    if (!this.#stopped && rows.length > 0) this.#reader.take({ kind: "INBOX", rows });
    return rows.length >= INBOX_ROWS;
  }

  async #readLanes(): Promise<void> {
    const laneHashes = await this.#store.readLanes(this.#lanesAfter, LANE_ROWS);
    this.#lanesAfter = laneHashes.length < LANE_ROWS ? null : (laneHashes.at(-1) ?? null);
    if (!this.#stopped && laneHashes.length > 0) this.#reader.take({ kind: "SWEEP", laneHashes });
  }
}
