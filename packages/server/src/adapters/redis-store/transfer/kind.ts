import type { TransferKind, TransferRows } from "../../../ports/store-transfer.ts";
import type { Kinds } from "../kinds.ts";
import type { RedisCommand, RedisConnection } from "../redis-connection.ts";

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
  let [part, bytes]: [RedisCommand[], number] = [[], 0];
  for (const command of commands) {
    part.push(command);
    bytes += command.reduce((sum, argument) => sum + argument.length, 0);
    if (part.length < CALL.count && bytes < CALL.bytes) continue;
    await db.call(part);
    [part, bytes] = [[], 0];
  }
  if (part.length > 0) await db.call(part);
}

/** Calls a function with the arguments of rows, in calls of a limited size. */
export async function fill(db: RedisConnection, name: string, rows: readonly (string | Buffer)[][]): Promise<void> {
  let [part, count, bytes]: [(string | Buffer)[], number, number] = [[], 0, 0];
  for (const args of rows) {
    part.push(...args);
    count++;
    bytes += args.reduce((sum, argument) => sum + argument.length, 0);
    if (count < CALL.count && bytes < CALL.bytes) continue;
    await db.durably(name, part);
    [part, count, bytes] = [[], 0, 0];
  }
  if (part.length > 0) await db.durably(name, part);
}
