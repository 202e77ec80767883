import pg from "pg";
import type { Logger } from "pino";
import type { Incarnation } from "../../domain/ids.ts";
import { storeError } from "./errors.ts";

/**
 * What a connection is for. The hot path never waits behind a listing, and a takeover can end the commits of an owner
 * without touching anything else of its node.
 */
export type Purpose = "commit" | "submit" | "read" | "query" | "maintain" | "claim";

export type Connection = string | pg.ClientConfig;

export interface Statement {
  /** Prepared under this name, once a connection. Without a name it is planned anew each time. */
  name?: string;
  text: string;
  values?: readonly unknown[];
}

/** Columns in order: numbers, booleans, Buffers for bytea, texts for all else; null. */
export type Row = unknown[];

/** One connection, for as long as the callback of `session` runs. */
export interface Session {
  run(statement: Statement): Promise<Row[]>;
}

/** A statement that takes longer has an unknown answer; the server gives up first, so that it can still say so. */
const STATEMENT_TIMEOUT_MS = 10_000;
const ANSWER_GRACE_MS = 2_000;
const LONG_STATEMENT_TIMEOUT_MS = 600_000;
const CONNECT_TIMEOUT_MS = 5_000;

/** Connections for each purpose; with the one that holds the claim at most 12 in all. */
const POOL_SIZES: Record<Exclude<Purpose, "claim">, number> = { commit: 1, submit: 3, read: 2, query: 4, maintain: 1 };

/** Statements of the hot path are planned once, blind to statistics: always by index, in nested loops. */
const HOT_SETTINGS = {
  plan_cache_mode: "force_generic_plan",
  jit: "off",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
};

const SETTINGS: Record<Purpose, Record<string, string>> = {
  commit: HOT_SETTINGS,
  submit: HOT_SETTINGS,
  read: HOT_SETTINGS,
  query: { jit: "off" },
  maintain: {
    jit: "off",
    // DDL that waits for a lock makes everybody else wait behind it.
    lock_timeout: "2000",
    // Looking through a month may take its time.
    statement_timeout: String(LONG_STATEMENT_TIMEOUT_MS),
  },
  // A predecessor whose machine vanished must not keep its claim for the two hours that TCP takes by default.
  claim: { tcp_keepalives_idle: "5", tcp_keepalives_interval: "2", tcp_keepalives_count: "3" },
};

/** Pools of connections by purpose, opened when needed and replaced when they break. */
export class Connections {
  readonly #pools = new Map<Purpose, pg.Pool>();

  constructor(connection: Connection, incarnation: Incarnation, log: Logger) {
    for (const [purpose, size] of Object.entries(POOL_SIZES) as [Purpose, number][]) {
      const pool = new pg.Pool({
        ...clientConfig(connection, incarnation, purpose),
        max: size,
        // The hot connections keep their prepared statements.
        idleTimeoutMillis: purpose === "query" || purpose === "maintain" ? 10_000 : 0,
      });
      // An idle connection that breaks is replaced when one is needed; without a listener it would end the process.
      pool.on("error", (error) => log.debug({ err: error, purpose }, "an idle connection to PostgreSQL broke"));
      this.#pools.set(purpose, pool);
    }
  }

  /** @throws {StoreUnavailable} the statement may or may not have been executed */
  async run(purpose: Purpose, statement: Statement): Promise<Row[]> {
    try {
      return rows(await this.#pool(purpose).query(queryConfig(statement)));
    } catch (error) {
      throw storeError(error);
    }
  }

  /** Several statements on one connection, which is closed if any of them failed. */
  async session<T>(purpose: Purpose, use: (session: Session) => Promise<T>): Promise<T> {
    let client: pg.PoolClient | undefined;
    try {
      const connected = await this.#pool(purpose).connect();
      client = connected;
      // Errors between two statements are also those of the next one.
      connected.on("error", ignore);
      const answer = await use({ run: async (statement) => rows(await connected.query(queryConfig(statement))) });
      connected.off("error", ignore);
      connected.release();
      return answer;
    } catch (error) {
      client?.release(true);
      throw storeError(error);
    }
  }

  /** All that is done within is done at once or not at all. */
  transaction<T>(purpose: Purpose, use: (session: Session) => Promise<T>): Promise<T> {
    return this.session(purpose, async (session) => {
      await session.run({ text: "BEGIN" });
      const answer = await use(session);
      await session.run({ text: "COMMIT" });
      return answer;
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.end()));
  }

  #pool(purpose: Purpose): pg.Pool {
    const pool = this.#pools.get(purpose);
    if (pool === undefined) throw new Error(`There is no pool of connections for ${purpose}`);
    return pool;
  }
}

export function clientConfig(connection: Connection, incarnation: Incarnation, purpose: Purpose): pg.ClientConfig {
  const given = typeof connection === "string" ? { connectionString: connection } : connection;
  const timeoutMs = purpose === "maintain" ? LONG_STATEMENT_TIMEOUT_MS : STATEMENT_TIMEOUT_MS;
  return {
    ...given,
    application_name: applicationName(incarnation, purpose),
    options: options(purpose, typeof connection === "string" ? undefined : connection.options),
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: timeoutMs + ANSWER_GRACE_MS,
  };
}

/** How a backend is known in pg_stat_activity, to people and to takeovers; shorter than the 63 bytes that fit. */
export function applicationName(incarnation: Incarnation, purpose: Purpose): string {
  return `mainspring/${incarnation}/${purpose}`;
}

/** Settings of the session, sent when it starts. They must hold whatever the role or the database has set. */
function options(purpose: Purpose, given: string | undefined): string {
  const settings: Record<string, string> = {
    // The fence is read again after waiting for its lock; a stricter level would fail instead.
    default_transaction_isolation: "read\\ committed",
    statement_timeout: String(STATEMENT_TIMEOUT_MS),
    idle_in_transaction_session_timeout: String(STATEMENT_TIMEOUT_MS),
    ...SETTINGS[purpose],
  };
  const flags = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  return [...(given === undefined ? [] : [given]), ...flags].join(" ");
}

function queryConfig(statement: Statement): pg.QueryArrayConfig {
  return { ...statement, rowMode: "array", types: TYPES } as pg.QueryArrayConfig;
}

/** Several statements in one text have several results, which nobody asks for. */
function rows(result: pg.QueryArrayResult | pg.QueryArrayResult[]): Row[] {
  return Array.isArray(result) ? [] : result.rows;
}

const ignore = () => {};
const asIs = (text: string) => text;
const PARSERS = new Map<number, (text: string) => unknown>([
  [16, (text) => text === "t"],
  [17, (text) => Buffer.from(text.slice(2), "hex")],
  [20, Number],
  [21, Number],
  [23, Number],
  [701, Number],
]);
const TYPES = { getTypeParser: (oid: number) => PARSERS.get(oid) ?? asIs };
