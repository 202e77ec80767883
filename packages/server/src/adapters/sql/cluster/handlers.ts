import { HANDLERS_KEPT_MAX, HANDLERS_OF_TENANT_MAX } from "@mainspring/contract/limits";
import type { EpochMs } from "../../../domain/ids.ts";
import {
  type DeclaredHandler,
  type KeptHandler,
  type KeptHandlers,
  SEEN_EVERY_MS,
  type StoreHandlers,
} from "../../../ports/store-handlers.ts";
import { bools, texts } from "../connection/arrays.ts";
import type { Connections, Row, Session } from "../connection/connections.ts";

const VERSION = "SELECT coalesce(max(version), 0) || '-' || count(*) FROM handler_policies";

const READ = `
  SELECT (${VERSION}), pool, handler, is_home, policies, declared_at, seen_at FROM handler_policies ORDER BY pool, handler`;

/** $1 to $5: columns of the declarations. $6: their time. */
const DECLARED = `
  unnest($1::text[], $2::text[], $3::boolean[], $4::text[], $5::boolean[]) AS d (pool, handler, is_home, policies, is_news)`;

const IS_OTHER = "(h.policies <> d.policies OR h.is_home <> d.is_home)";
const IS_WORTH_A_ROW = "(d.is_home OR d.policies <> '{}')";

/** Most connections of workers bring nothing new, and so no lock and no write. */
const IS_NEWS = `
  SELECT EXISTS (
    SELECT FROM ${DECLARED} LEFT JOIN handler_policies h USING (pool, handler)
    WHERE CASE WHEN h.pool IS NULL THEN ${IS_WORTH_A_ROW}
      ELSE d.is_news AND ${IS_OTHER} OR h.seen_at < $6::bigint - ${SEEN_EVERY_MS} END
  )`;

/** Writers come one after the other, so that versions become visible in their order. */
const LOCK = "LOCK TABLE handler_policies IN SHARE ROW EXCLUSIVE MODE";
const NEXT = "SELECT coalesce(max(version), 0) + 1 FROM handler_policies";

/** $7: version of what is written now. */
const ADD = `
  INSERT INTO handler_policies (pool, handler, is_home, policies, declared_at, seen_at, version)
  SELECT d.pool, d.handler, d.is_home, d.policies, $6::bigint, $6::bigint, $7::bigint
  FROM ${DECLARED} LEFT JOIN handler_policies h USING (pool, handler) WHERE h.pool IS NULL AND ${IS_WORTH_A_ROW}
  RETURNING pool`;

const CHANGE = `
  UPDATE handler_policies h
  SET is_home = d.is_home, policies = d.policies, declared_at = $6::bigint, version = $7::bigint
  FROM ${DECLARED} WHERE h.pool = d.pool AND h.handler = d.handler AND d.is_news AND ${IS_OTHER}
  RETURNING h.pool`;

/** Tenant that owns the pool of a row; an empty text: the pool is shared. */
const ownerIn = (row: string) =>
  `CASE WHEN strpos(${row}.pool, chr(31)) = 0 THEN '' ELSE split_part(${row}.pool, chr(31), 1) END`;

/**
 * A handler has one home among shared pools, and one among the pools of each tenant. The greater name is the home where two pools are
 * written at once. $1: version of what was written now.
 */
const MOVE_HOME = `
  UPDATE handler_policies h SET is_home = false, version = $1::bigint FROM handler_policies home
  WHERE home.version = $1::bigint AND home.is_home AND h.handler = home.handler AND h.is_home
    AND h.pool <> home.pool AND ${ownerIn("h")} = ${ownerIn("home")} AND (h.version < $1::bigint OR h.pool < home.pool)`;

const SEE = `
  UPDATE handler_policies h SET seen_at = $6::bigint FROM ${DECLARED}
  WHERE h.pool = d.pool AND h.handler = d.handler AND h.seen_at < $6::bigint - ${SEEN_EVERY_MS}`;

const FORGET = `
  DELETE FROM handler_policies WHERE (pool, handler) IN (
    SELECT pool, handler FROM (
      SELECT pool, handler, ${ownerIn("h")} AS owner, row_number() OVER
        (PARTITION BY ${ownerIn("h")} ORDER BY seen_at DESC, version DESC, pool, handler) AS place FROM handler_policies h
    ) p WHERE place > CASE owner WHEN '' THEN ${HANDLERS_KEPT_MAX} ELSE ${HANDLERS_OF_TENANT_MAX} END
  )`;

/** See StoreHandlers. */
export function handlers(db: Connections): StoreHandlers {
  return {
    read: (known) => read(db, known),
    keep: (declared, at) => keep(db, declared, at),
  };
}

async function read(db: Connections, known: string | null): Promise<KeptHandlers | null> {
  const [[version] = []] = await db.run("read", { text: VERSION });
  if (version === known) return null;
  const rows = await db.run("read", { text: READ });
  return { version: (rows[0]?.[0] ?? version) as string, handlers: rows.map(handlerFrom) };
}

function handlerFrom([, pool, handler, isHome, policies, declaredAt, seenAt]: Row): KeptHandler {
  return { pool, handler, isHome, policies, declaredAt, seenAt } as KeptHandler;
}

async function keep(db: Connections, declared: readonly DeclaredHandler[], at: EpochMs): Promise<boolean> {
  const values = [...columnsOf(declared), at];
  const [[isNews] = []] = await db.run("query", { text: IS_NEWS, values });
  if (isNews !== true) return false;
  return await db.transaction("query", (session) => write(session, values));
}

async function write(session: Session, values: unknown[]): Promise<boolean> {
  await session.run({ text: LOCK });
  const [[version] = []] = await session.run({ text: NEXT });
  let changed = 0;
  for (const text of [ADD, CHANGE]) changed += (await session.run({ text, values: [...values, version] })).length;
  await session.run({ text: MOVE_HOME, values: [version] });
  await session.run({ text: SEE, values });
  await session.run({ text: FORGET });
  return changed > 0;
}

function columnsOf(declared: readonly DeclaredHandler[]): unknown[] {
  return [
    texts(declared, ({ pool }) => pool),
    texts(declared, ({ handler }) => handler),
    bools(declared, ({ isHome }) => isHome),
    texts(declared, ({ policies }) => policies),
    bools(declared, ({ isNews }) => isNews),
  ];
}
