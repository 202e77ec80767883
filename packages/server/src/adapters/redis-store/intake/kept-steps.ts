import { randomBytes } from "node:crypto";
import type { EpochMs, ExecutionId } from "../../../domain/ids.ts";
import { chunked } from "../../../ports/chunks.ts";
import { ID_BYTES, idBytes, pairsOf } from "../bytes.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";
import { SIGNAL, STEP } from "./steps.ts";

/** Limit of one call. */
const CALL = { count: 500, bytes: 4 * 1024 * 1024 };
const OPEN = "O".charCodeAt(0);

/**
 * Copies the records and the open signals of a final execution, before the call that creates an execution with them. The copies have names of
 * their own until that call, because an execution may have the new id already. They are in the sorted set `bodies`, as bodies are.
 * @returns names of the copies; empty: there is nothing to keep
 */
export async function keepSteps(db: RedisConnection, from: ExecutionId, at: EpochMs): Promise<Buffer[]> {
  const hashes = await db.call(["s", "g"].map((letter) => ["HGETALL", db.key(nameOf(letter, idBytes(from)))]));
  const [steps = [], signals = []] = (hashes as Buffer[][]).map((hash): Pair[] => pairsOf(hash));
  const draft = randomBytes(ID_BYTES);
  const names: Buffer[] = [];
  for (const [letter, kept] of [["s", steps.map(keptStep)] as const, ["g", keptSignals(signals)] as const]) {
    if (kept.length === 0) continue;
    const name = nameOf(letter, draft);
    names.push(name);
    await db.call([["ZADD", db.key("bodies"), `${Math.floor(at)}`, name]]);
    await write(db, db.key(name), kept);
  }
  return names;
}

type Pair = readonly [field: Buffer, value: Buffer];

function nameOf(letter: string, id: Buffer): Buffer {
  return Buffer.concat([Buffer.from(letter), id]);
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
