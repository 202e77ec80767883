import { behind, idOf, pairsOf } from "../bytes.ts";
import type { RedisArgument, RedisCommand, RedisConnection } from "../redis-connection.ts";

/** Keys and fields that one call looks at. */
const PER_CALL = 1_000;

/** Names, without the prefix of the store, of keys of a type. @param pattern glob of the name, whose `?` stands for one byte */
export async function* namesOf(
  db: RedisConnection,
  pattern: string,
  type: "string" | "hash" | "set" | null,
): AsyncGenerator<Buffer[]> {
  const ofType = type === null ? [] : ["TYPE", type];
  for (let cursor = "0"; ; ) {
    const command: RedisCommand = ["SCAN", cursor, "MATCH", db.prefix + pattern, "COUNT", `${PER_CALL}`, ...ofType];
    const [page] = (await db.call([command])) as [[Buffer, Buffer[]]];
    const names = distinct(page[1]).map((key) => key.subarray(db.prefix.length));
    if (names.length > 0) yield names;
    cursor = String(page[0]);
    if (cursor === "0") return;
  }
}

/** Ids in names that have a letter, an id, and nothing else. */
export async function* idsBehind(
  db: RedisConnection,
  letters: string,
  type: "string" | "hash" | "set",
): AsyncGenerator<string[]> {
  for await (const names of namesOf(db, letters + "?".repeat(16), type))
    yield names.map((name) => idOf(name, letters.length));
}

/** Fields and values of a hash. */
export async function* fieldsIn(
  db: RedisConnection,
  name: RedisArgument,
): AsyncGenerator<(readonly [Buffer, Buffer])[]> {
  const seen = new Set<string>();
  for (let cursor = "0"; ; ) {
    const command: RedisCommand = ["HSCAN", db.key(name), cursor, "COUNT", `${PER_CALL}`];
    const [page] = (await db.call([command])) as [[Buffer, Buffer[]]];
    const pairs = pairsOf(page[1]).filter(([field]) => !seen.has(field.toString("latin1")));
    for (const [field] of pairs) seen.add(field.toString("latin1"));
    if (pairs.length > 0) yield pairs;
    cursor = String(page[0]);
    if (cursor === "0") return;
  }
}

/** Members of a lex, in order. */
export async function* membersIn(db: RedisConnection, name: RedisArgument): AsyncGenerator<Buffer[]> {
  for (let from: RedisArgument = "-"; ; ) {
    const command: RedisCommand = ["ZRANGE", db.key(name), from, "+", "BYLEX", "LIMIT", "0", `${PER_CALL}`];
    const [members] = (await db.call([command])) as [Buffer[]];
    if (members.length > 0) yield members;
    if (members.length < PER_CALL) return;
    from = behind(members.at(-1) as Buffer);
  }
}

function distinct(keys: readonly Buffer[]): Buffer[] {
  return [...new Map(keys.map((key) => [key.toString("latin1"), key])).values()];
}
