import type { Logger } from "pino";
import type { ShardId } from "../../domain/ids.ts";
import type { Input, ReadMark, Want } from "../../engine/inputs.ts";
import { CountedWarnings } from "../../ports/counted-warnings.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import { PLANS_AHEAD_MS, PlanReader } from "./plan-reader.ts";
import type { PoolReader } from "./pool-reader.ts";

/** How often the store is looked at for what no hint told of. */
const SWEEP_EVERY_MS = 1_000;
/** Rows that fall due until the sweep after next are brought into memory. */
const AHEAD_MS = 3 * SWEEP_EVERY_MS;
const WAITING_ROWS = 5_000;
const LANE_ROWS = 1_000;
const COMMAND_ROWS = 1_000;
/** Open commands that are kept in memory. Each look sends their ids to the store. */
const COMMANDS_MAX = 20_000;
const RETRY_MS = 500;

/** Parts of the runner that the hydrator needs. */
export interface Reader {
  /** Hands an input to the machine. */
  take(input: Input): void;
  /** Shards that are owned now. */
  shards(): ShardId[];
  readBegins(): ReadMark;
  readEnds(mark: ReadMark): void;
  /** Executions in memory. */
  size(): number;
  /** Ids of the commands that the machine has and that are not done. */
  commands(): ReadonlySet<string>;
  /** Recurring jobs in memory. */
  plans(): number;
  /** Hears the settings of pools that a look shows. */
  readonly pools: Pick<PoolReader, "begin">;
  /** The time zone data in force, as plans name it; null: there is no changeover yet. */
  tzdata(): string | null;
}

/** Brings executions from the store into the machine: what it wants, and once a second what it may not know of. */
export class Hydrator {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #log: Logger;
  /** A store that is slow fails many reads at once. */
  readonly #warnings: CountedWarnings;
  readonly #reader: Reader;
  readonly #plans: PlanReader;
  #timer: Timer | null = null;
  #stopped = false;
  #lanesAfter: number | null = null;
  #looking = false;
  #inboxIsShut = false;

  constructor(store: Store, runtime: Runtime, log: Logger, reader: Reader) {
    this.#store = store;
    this.#runtime = runtime;
    this.#log = log;
    this.#warnings = new CountedWarnings(log, runtime);
    this.#reader = reader;
    this.#plans = new PlanReader({
      recurrences: store.recurrences,
      runtime,
      reader,
      reading: (read) => this.#reading(read),
      failed: (error) => this.#log.warn({ err: error }, "the scheduler could not read recurring jobs and tries again"),
    });
  }

  start(): void {
    this.#plans.begin();
    void this.#sweep();
  }

  /** Looks at once: there are shards of which nothing is known yet. */
  hurry(): void {
    this.#plans.begin();
    if (this.#timer === null) return;
    this.#timer.cancel();
    this.#timer = null;
    void this.#sweep();
  }

  /** Other time zone data is in force. */
  lookForOtherZones(): void {
    this.#plans.readOtherZones();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#plans.stop();
  }

  /** Reads what the machine asked for; a read that fails is repeated until it succeeds or the hydrator is stopped. */
  read(want: Want): void {
    this.#read(want).catch((error: unknown) => {
      if (this.#stopped) return;
      this.#warnings.warn({ err: error }, "a read of the store failed and is repeated");
      this.#runtime.setTimer(RETRY_MS, () => {
        if (!this.#stopped) this.read(want);
      });
    });
  }

  #read(want: Want): Promise<void> {
    if (want.kind === "READY") return this.#readReady(want);
    return want.kind === "LOAD" ? this.#load(want.ids) : this.#plans.read(want);
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

  /** Most of what there could be there is not, most of the time. @returns whether there is more that is due */
  async #lookAround(): Promise<boolean> {
    const now = this.#runtime.now();
    const ahead = { dueUntil: now + AHEAD_MS, firesUntil: now + PLANS_AHEAD_MS };
    const poolsRead = this.#reader.pools.begin();
    const signs = await this.#store.lookOut(this.#reader.shards(), ahead);
    poolsRead(signs.pools);
    let full = signs.waiting && (await this.#readWaiting());
    if (signs.ready) await this.#readLanes();
    else this.#lanesAfter = null;
    if (signs.plans) await this.#plans.sweep();
    if (signs.commands && (await this.#readCommands())) full = true;
    return full;
  }

  /** @returns whether there is more that is due */
  async #readWaiting(): Promise<boolean> {
    // The read repeats rows that are in memory, because it starts from the start: a cursor could pass a slow transaction.
    const limit = Math.min(this.#reader.size() + WAITING_ROWS, 100_000);
    let full = false;
    await this.#reading(async (mark) => {
      const rows = await this.#store.readWaiting(this.#reader.shards(), this.#runtime.now() + AHEAD_MS, limit);
      full = rows.length >= limit;
      return { kind: "READ_WAITING", rows, ...mark };
    });
    return full;
  }

  /** Looks at once for commands: those for plans are obeyed in the order of the inbox, not in that of their messages. */
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
   * Commands may stay open for minutes, so the read leaves out those that the machine has. @returns whether there are
   * more
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

  async #readLanes(): Promise<void> {
    const laneHashes = await this.#store.readLanes(this.#lanesAfter, LANE_ROWS);
    this.#lanesAfter = laneHashes.length < LANE_ROWS ? null : (laneHashes.at(-1) ?? null);
    if (!this.#stopped && laneHashes.length > 0) this.#reader.take({ kind: "SWEEP", laneHashes });
  }
}
