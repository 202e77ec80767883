import { type ChunkLimit, chunked } from "../../../ports/chunks.ts";
import type { TransferKind, TransferRows } from "../../../ports/store-transfer.ts";
import type { Kinds } from "../kinds.ts";
import type { RedisArgument, RedisCommand, RedisConnection } from "../redis-connection.ts";

/** Connection of a transfer, and numbers of kinds of executions. */
export interface Place {
  db: RedisConnection;
  kinds: Kinds;
}

/** Rows of a kind in Redis. */
export interface KindInRedis<K extends TransferKind> {
  rows: (place: Place) => AsyncIterable<TransferRows[K][]>;
  write: (place: Place, rows: readonly TransferRows[K][]) => Promise<void>;
  /** @returns reason why the store cannot hold the row; null: it can. Left out: it can hold all rows. */
  unfit?: (row: TransferRows[K]) => string | null;
}

/** Commands and bytes of one call. */
const CALL = { count: 500, bytes: 4 * 1024 * 1024 };

/** Sends commands that add rows, in calls of a limited size. */
export async function send(db: RedisConnection, commands: readonly RedisCommand[]): Promise<void> {
  for (const part of chunked(commands, CALL, weightOf)) await db.call(part);
}

/** Sends a field and its value of a hash for each row. */
export function put<R>(name: string, fieldOf: (row: R) => readonly [field: RedisArgument, value: RedisArgument]) {
  return ({ db }: Place, rows: readonly R[]) =>
    send(
      db,
      rows.map((row) => ["HSET", db.key(name), ...fieldOf(row)]),
    );
}

/** Calls a function with the arguments of rows, in calls of a limited size. */
export async function fill(db: RedisConnection, name: string, rows: readonly (string | Buffer)[][]): Promise<void> {
  for (const part of chunked(rows, CALL, weightOf)) await db.durably(name, part.flat());
}

function weightOf(args: readonly RedisArgument[]): ChunkLimit {
  return { count: 1, bytes: args.reduce((sum, argument) => sum + argument.length, 0) };
}
