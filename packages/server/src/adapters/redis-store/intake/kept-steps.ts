import type { EpochMs, ExecutionId } from "../../../domain/ids.ts";
import { chunked } from "../../../ports/chunks.ts";
import { idBytes } from "../bytes.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";
import { SIGNAL, STEP } from "./steps.ts";

/** Limit of one call. */
const CALL = { count: 500, bytes: 4 * 1024 * 1024 };
const OPEN = "O".charCodeAt(0);

/**
 * Gives an execution the records and the open signals of a final one, before the call that creates the execution. Until that call, the names
 * of the hashes are in the sorted set `bodies`, as those of bodies are.
 * @returns names of the hashes; empty: there is nothing to keep
 */
export async function keepSteps(
  db: RedisConnection,
  { from, to, at }: { from: ExecutionId; to: ExecutionId; at: EpochMs },
): Promise<Buffer[]> {
  const hashes = await db.call(["s", "g"].map((letter) => ["HGETALL", db.key(nameOf(letter, from))]));
  const [steps, signals] = (hashes as Buffer[][]).map(pairsOf) as [Pair[], Pair[]];
  const names: Buffer[] = [];
  for (const [letter, kept] of [["s", steps.map(keptStep)] as const, ["g", keptSignals(signals)] as const]) {
    if (kept.length === 0) continue;
    names.push(nameOf(letter, to));
    await db.call([["ZADD", db.key("bodies"), `${Math.floor(at)}`, nameOf(letter, to)]]);
    await write(db, db.key(nameOf(letter, to)), kept);
  }
  return names;
}

type Pair = readonly [field: Buffer, value: Buffer];

function nameOf(letter: string, id: ExecutionId): Buffer {
  return Buffer.concat([Buffer.from(letter), idBytes(id)]);
}

function pairsOf(hash: readonly Buffer[]): Pair[] {
  return Array.from({ length: hash.length / 2 }, (_, n) => [hash[2 * n], hash[2 * n + 1]] as [Buffer, Buffer]);
}

/** A record of attempt 0 is that of another execution. */
function keptStep([name, record]: Pair): Pair {
  const kept = Buffer.from(record);
  kept.writeUInt32BE(0, STEP.attempt);
  return [name, kept];
}

/** Signals that no step has consumed, with their number, their bytes and the newest time, as the functions keep them. */
function keptSignals(signals: readonly Pair[]): Pair[] {
  const open = signals.filter(([field, record]) => String(field) !== "#" && record[0] === OPEN);
  if (open.length === 0) return [];
  const bytes = open.reduce((sum, [, record]) => sum + record.readUInt32BE(SIGNAL.size), 0);
  const newest = Math.max(...open.map(([, record]) => record.readUIntBE(SIGNAL.at, 6)));
  return [...open, [Buffer.from("#"), Buffer.from(`${open.length} ${bytes} ${newest}`)]];
}

async function write(db: RedisConnection, key: RedisArgument, pairs: readonly Pair[]): Promise<void> {
  const weigh = ([field, value]: Pair) => ({ count: 1, bytes: field.length + value.length });
  for (const part of chunked(pairs, CALL, weigh)) await db.call([["HSET", key, ...part.flat()]]);
}
