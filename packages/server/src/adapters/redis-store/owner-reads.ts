import type { Candidate, RankCursor } from "../../domain/execution.ts";
import { type Flow, flowName } from "../../domain/flow.ts";
import { type EpochMs, type ExecutionId, SHARD_COUNT, type ShardId } from "../../domain/ids.ts";
import type { Pool } from "../../domain/pool.ts";
import type { LookAhead, PollSummary } from "../../ports/store.ts";
import type { DueCursor, FlowPage } from "../../ports/store-flows.ts";
import { behind, idBytes, idOf, instantBytes, laneAt, laneBytes, u32, writeRank } from "./bytes.ts";
import type { Kinds } from "./kinds.ts";
import { StoredExecution } from "./record.ts";
import type { RedisAnswer, RedisConnection } from "./redis-connection.ts";
import { payloadsOf } from "./runs/payloads.ts";

/** Rows of one call. */
const ROWS = 500;
/** Indexes of one call. */
const INDEXES = 64;
/** Flows of one call. */
const FLOWS = 10_000;
const BEHIND_ALL = Buffer.from([0xff]);

/** One index to read, in the order of its members. */
interface Index {
  name: Buffer;
  cursor: Buffer;
}

/** Part of an index, and whether more may follow behind the cursor. */
interface Part {
  hasMore: boolean;
  cursor: Buffer;
  rows: StoredExecution[];
}

/** Indexes of one read: bytes of a member before the id, upper bound of members, and rows of each index. */
interface Range {
  shards: readonly ShardId[];
  width: number;
  upper: Buffer | string;
  limit: number;
}

/** Reads of owners of shards. */
export class OwnerReads {
  readonly #db: RedisConnection;
  readonly #kinds: Kinds;

  constructor(db: RedisConnection, kinds: Kinds) {
    this.#db = db;
    this.#kinds = kinds;
  }

  /** See Store.readWaiting: merges the flows, and reads on only in those whose rows are the earliest. */
  async readWaiting(shards: readonly ShardId[], dueUntil: EpochMs, limit: number): Promise<Candidate[]> {
    const [flows] = await this.#db.call([
      ["ZRANGE", this.#db.key("wh"), "-inf", `${Math.floor(dueUntil)}`, "BYSCORE", "LIMIT", "0", `${FLOWS}`],
    ]);
    const range = { shards, width: 6, upper: upperOf(dueUntil), limit: Math.min(limit, ROWS) };
    const lines = (flows as Buffer[]).map((flow) => new Line({ name: waitingName(flow), cursor: Buffer.alloc(0) }));
    const found: StoredExecution[] = [];
    while (found.length < limit) {
      await this.#fill(
        lines.filter((line) => line.isEmpty && line.hasMore),
        range,
      );
      if (lines.some((line) => line.isEmpty && line.hasMore)) continue;
      const first = earliest(lines);
      if (first === null) break;
      found.push(first);
    }
    return await this.#candidates(found);
  }

  /** See StoreFlows.waitingFlows. Flows have the order of their names. */
  async waitingFlows(dueUntil: EpochMs, after: Flow | null, limit: number): Promise<Flow[]> {
    const [flows] = await this.#db.call([
      ["ZRANGE", this.#db.key("wh"), "-inf", `${Math.floor(dueUntil)}`, "BYSCORE", "LIMIT", "0", `${FLOWS}`],
    ]);
    const numbers = (flows as Buffer[]).map((bytes) => bytes.readUInt32BE());
    const found = [...(await this.#kinds.flowsOf(numbers)).values()].map(({ tenant, pool }) => ({ tenant, pool }));
    const behind = found.filter((flow) => after === null || flowName(flow) > flowName(after));
    return behind.sort((a, b) => (flowName(a) < flowName(b) ? -1 : 1)).slice(0, limit);
  }

  /** See StoreFlows.readFlows. */
  async readFlows(
    shards: readonly ShardId[],
    dueUntil: EpochMs,
    pages: readonly FlowPage[],
    limit: number,
  ): Promise<Candidate[][]> {
    const numbers = await this.#kinds.knownFlows(pages.map(({ flow }) => flow));
    const lines = pages.map(({ after }, i) => {
      const number = numbers[i];
      return number == null ? null : new Line({ name: waitingName(u32(number)), cursor: dueCursor(after) });
    });
    const open = () => lines.filter((line) => line !== null && line.hasMore && line.rows.length < limit) as Line[];
    const range = { shards, width: 6, upper: upperOf(dueUntil), limit: Math.min(limit, ROWS) };
    while (open().length > 0) await this.#fill(open(), range);
    return await Promise.all(lines.map((line) => this.#candidates(line?.rows.slice(0, limit) ?? [])));
  }

  /** See Store.readReady. */
  async readReady(
    shards: readonly ShardId[],
    laneHash: number,
    after: RankCursor | null,
    limit: number,
  ): Promise<Candidate[]> {
    const name = Buffer.concat([Buffer.from("r"), laneBytes(laneHash)]);
    const line = new Line({ name, cursor: rankCursor(after) });
    while (line.hasMore && line.rows.length < limit)
      await this.#fill([line], { shards, width: 8, upper: "+", limit: Math.min(limit - line.rows.length, ROWS) });
    return await this.#candidates(line.rows);
  }

  /** See Store.readLanes. */
  async readLanes(after: number | null, limit: number): Promise<number[]> {
    const from = after === null ? "-" : behind(laneBytes(after));
    const [lanes] = await this.#db.call([["ZRANGE", this.#db.key("rl"), from, "+", "BYLEX", "LIMIT", "0", `${limit}`]]);
    return (lanes as Buffer[]).map((bytes) => laneAt(bytes, 0));
  }

  /** See Store.load. */
  async load(ids: readonly ExecutionId[]): Promise<Candidate[]> {
    const rows = await this.rows(ids);
    return await this.#candidates(rows.filter((row) => row !== null && !row.isFinal) as StoredExecution[]);
  }

  /** Stored executions in the order of the ids; null: there is none. */
  async rows(ids: readonly ExecutionId[]): Promise<(StoredExecution | null)[]> {
    return await readRows(this.#db, ids);
  }

  /** See Store.payloads. */
  async payloads(ids: readonly ExecutionId[]): Promise<Map<ExecutionId, Uint8Array>> {
    const rows = await this.rows(ids);
    return await payloadsOf(
      this.#db,
      rows.filter((row) => row !== null),
    );
  }

  /** See Store.poll. */
  async poll(shards: readonly ShardId[], { dueUntil, firesUntil }: LookAhead): Promise<PollSummary> {
    const untils = [dueUntil, firesUntil].flatMap((until) => [upperOf(until), `${Math.floor(until)}`]);
    const args = [maskOf(shards), ...untils];
    const answer = (await this.#db.fcall("ms_poll", args)) as RedisAnswer[];
    const [waiting, ready, commands, pools, plans, events] = answer;
    return {
      ...{
        waiting: waiting === 1,
        ready: ready === 1,
        plans: plans === 1,
        commands: commands === 1,
        events: events === 1,
      },
      pools: poolsOf(pools as Buffer[]),
    };
  }

  async candidatesOf(rows: readonly StoredExecution[]): Promise<Candidate[]> {
    return await this.#candidates(rows);
  }

  async #fill(lines: readonly Line[], range: Range): Promise<void> {
    for (let from = 0; from < lines.length; from += INDEXES) {
      const part = lines.slice(from, from + INDEXES);
      const indexes = part.flatMap(({ name, cursor }) => [name, cursor]);
      const args = [`${range.width}`, maskOf(range.shards), range.upper, `${range.limit}`, ...indexes];
      const answers = (await this.#db.fcall("ms_rows", args)) as RedisAnswer[][];
      for (const [i, answer] of answers.entries()) (part[i] as Line).add(partOf(answer));
    }
  }

  async #candidates(rows: readonly StoredExecution[]): Promise<Candidate[]> {
    const kinds = await this.#kinds.kindsOf(rows.map(({ kind }) => kind));
    return rows.flatMap((row) => {
      const kind = kinds.get(row.kind);
      return kind === undefined ? [] : [row.candidate(kind)];
    });
  }
}

/** Reads executions; null: there is none. */
export async function readRows(db: RedisConnection, ids: readonly ExecutionId[]): Promise<(StoredExecution | null)[]> {
  const found: (StoredExecution | null)[] = [];
  for (let from = 0; from < ids.length; from += ROWS) {
    const part = ids.slice(from, from + ROWS);
    const keys = part.map((id) => db.key(Buffer.concat([Buffer.from("e"), idBytes(id)])));
    const [records] = await db.call([["MGET", ...keys]]);
    for (const [i, record] of (records as (Buffer | null)[]).entries())
      found.push(record === null ? null : new StoredExecution(part[i] as ExecutionId, record));
  }
  return found;
}

/** Rows that were read of an index, and its cursor. */
class Line implements Index {
  readonly name: Buffer;
  cursor: Buffer;
  hasMore = true;
  rows: StoredExecution[] = [];
  #next = 0;

  constructor({ name, cursor }: Index) {
    this.name = name;
    this.cursor = cursor;
  }

  /** Whether every row was taken. */
  get isEmpty(): boolean {
    return this.#next >= this.rows.length;
  }

  get head(): StoredExecution | null {
    return this.rows[this.#next] ?? null;
  }

  take(): StoredExecution {
    return this.rows[this.#next++] as StoredExecution;
  }

  add({ hasMore, cursor, rows }: Part): void {
    this.hasMore = hasMore;
    this.cursor = cursor;
    this.rows.push(...rows);
  }
}

/** Takes the earliest row of all indexes; null: there is none. */
function earliest(lines: readonly Line[]): StoredExecution | null {
  let first: Line | null = null;
  for (const line of lines) {
    if (line.head === null) continue;
    if (
      first?.head == null ||
      line.head.dueAt < first.head.dueAt ||
      (line.head.dueAt === first.head.dueAt && line.head.id < first.head.id)
    )
      first = line;
  }
  return first?.take() ?? null;
}

function partOf([more, cursor, ...rest]: readonly RedisAnswer[]): Part {
  const rows: StoredExecution[] = [];
  for (let i = 0; i < rest.length; i += 2) {
    const record = rest[i + 1];
    // Null: the row of a member is gone, which no function leaves behind.
    if (record != null) rows.push(new StoredExecution(idOf(rest[i] as Buffer), record as Buffer));
  }
  return { hasMore: more === 1, cursor: cursor as Buffer, rows };
}

/** Shards as a text of one digit each. */
export function maskOf(shards: readonly ShardId[]): string {
  const own = new Set(shards);
  return Array.from({ length: SHARD_COUNT }, (_, shard) => (own.has(shard) ? "1" : "0")).join("");
}

function waitingName(flow: Buffer): Buffer {
  return Buffer.concat([Buffer.from("w"), flow]);
}

function upperOf(dueUntil: EpochMs): Buffer {
  return behind(instantBytes(Math.floor(dueUntil) + 1));
}

/** Position behind every member of this time and id, whatever its shard is. */
function dueCursor(after: DueCursor | null): Buffer {
  if (after === null) return Buffer.alloc(0);
  return Buffer.concat([instantBytes(after.dueAt), idBytes(after.id), BEHIND_ALL]);
}

function rankCursor(after: RankCursor | null): Buffer {
  if (after === null) return Buffer.alloc(0);
  const rank = Buffer.alloc(8);
  writeRank(rank, after.rank, 0);
  return Buffer.concat([rank, idBytes(after.id), BEHIND_ALL]);
}

export function poolsOf(texts: readonly Buffer[]): Pool[] {
  const pools = texts.map((text) => JSON.parse(String(text)) as Pool);
  return pools.sort((a, b) => (a.name < b.name ? -1 : 1));
}
