import { type HandlerRow, HandlerTable } from "../../ports/handler-table.ts";
import type { DeclaredHandler, KeptHandlers, StoreHandlers } from "../../ports/store-handlers.ts";
import type { RedisArgument, RedisConnection } from "./redis-connection.ts";

/** Policies of one page, each of at most 4 KiB. */
const PER_PAGE = 500;

/** Policies of handlers in the hash `hp`, and the version of all in `hpv`. */
export function handlers(db: RedisConnection): StoreHandlers {
  return {
    read: async (known) => {
      const version = await versionOf(db);
      return version === known ? null : { ...(await readAll(db)), version };
    },
    keep: async (declared, at) => {
      for (;;) {
        const isChanged = await tryToKeep(db, declared, at);
        if (isChanged !== null) return isChanged;
      }
    },
  };
}

/** @returns whether anything has changed; null: another node was faster */
async function tryToKeep(
  db: RedisConnection,
  declared: readonly DeclaredHandler[],
  at: number,
): Promise<boolean | null> {
  const version = await versionOf(db);
  const rows = await readRows(db);
  const table = new HandlerTable(rows);
  const isChanged = table.keep(declared, at);
  const before = new Map(rows.map((row) => [rowName(row), JSON.stringify(row)]));
  const after = table.rows();
  const written = [...after].map(([key, row]) => [key, JSON.stringify(row)] as const);
  const news = written.filter(([key, text]) => before.get(key) !== text);
  const forgotten = [...before.keys()].filter((key) => !after.has(key));
  if (news.length + forgotten.length === 0) return isChanged;
  const next = (table.read(null) as KeptHandlers).version;
  const args: RedisArgument[] = [version, next, `${news.length}`, ...news.flat(), ...forgotten];
  return (await db.durably("ms_keep_handlers", args)) === 1 ? isChanged : null;
}

/** Field of a row in the hash. */
export function rowName({ pool, handler }: Pick<HandlerRow, "pool" | "handler">): string {
  return `${pool}\u0000${handler}`;
}

async function readAll(db: RedisConnection): Promise<KeptHandlers> {
  return new HandlerTable(await readRows(db)).read(null) as KeptHandlers;
}

async function versionOf(db: RedisConnection): Promise<string> {
  const [version] = await db.call([["GET", db.key("hpv")]]);
  return version === null ? "0-0" : String(version);
}

async function readRows(db: RedisConnection): Promise<HandlerRow[]> {
  const rows = new Map<string, HandlerRow>();
  for (let cursor = "0"; ; ) {
    const [page] = await db.call([["HSCAN", db.key("hp"), cursor, "COUNT", `${PER_PAGE}`]]);
    const [next, fields] = page as [Buffer, Buffer[]];
    // A scan may name a field twice.
    for (let i = 0; i < fields.length; i += 2)
      rows.set(String(fields[i]), JSON.parse(String(fields[i + 1])) as HandlerRow);
    cursor = String(next);
    if (cursor === "0") return [...rows.values()];
  }
}
