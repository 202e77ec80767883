import type { ExecutionId, JobId } from "../../domain/ids.ts";
import { idBytes, u32 } from "./bytes.ts";
import type { RedisArgument, RedisCommand, RedisConnection } from "./redis-connection.ts";

/** Bytes in one call. */
const CALL_BYTES = 4 * 1024 * 1024;

/** A payload or result with a key of its own. */
export interface Body {
  name: Buffer;
  bytes: Uint8Array;
  /** Field of a hash that `name` names. Left out: the key is a string. */
  field?: string | Buffer;
}

/** Name of the payload of a version of a job. */
export function payloadName(jobId: JobId, version: number): Buffer {
  return Buffer.concat([Buffer.from("b"), idBytes(jobId), Buffer.from("p"), u32(version)]);
}

/** Name of the result of an attempt. */
export function resultName(id: ExecutionId, attempt: number): Buffer {
  return Buffer.concat([Buffer.from("b"), idBytes(id), Buffer.from("r"), u32(attempt)]);
}

/**
 * Writes bodies before the call that names them. Until that call, their names are in the sorted set `bodies`, from which upkeep removes those
 * that no call has named for an hour.
 */
export async function writeBodies(connection: RedisConnection, bodies: readonly Body[], at: number): Promise<void> {
  let commands: RedisCommand[] = [];
  let size = 0;
  for (const [i, { name, bytes, field }] of bodies.entries()) {
    if (bodies[i - 1]?.name !== name) commands.push(["ZADD", connection.key("bodies"), `${Math.floor(at)}`, name]);
    const [key, value] = [connection.key(name), Buffer.from(bytes)];
    commands.push(field === undefined ? ["SET", key, value] : ["HSET", key, field, value]);
    size += bytes.length;
    if (size < CALL_BYTES) continue;
    await connection.call(commands);
    [commands, size] = [[], 0];
  }
  if (commands.length > 0) await connection.call(commands);
}

/** Bodies by their names, in order; a body that is gone is null. */
export async function readBodies(connection: RedisConnection, names: readonly Buffer[]): Promise<(Buffer | null)[]> {
  const found: (Buffer | null)[] = [];
  // A body has at most 1 MiB.
  for (let from = 0; from < names.length; from += 4) {
    const keys: RedisArgument[] = names.slice(from, from + 4).map((name) => connection.key(name));
    const [answer] = await connection.call([["MGET", ...keys]]);
    found.push(...(answer as (Buffer | null)[]));
  }
  return found;
}
