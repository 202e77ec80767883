import pg from "pg";
import type { Logger } from "pino";
import type { Incarnation } from "../../../domain/ids.ts";
import type { Runtime } from "../../../ports/runtime.ts";
import { StoreUnavailable } from "../../../ports/store.ts";
import { storeAddresses } from "../../../ports/store-address.ts";
import { isMissingMonth, isRefusal, isWriteRefusal, listTimeout, storeError } from "./errors.ts";
import { Primary } from "./primary.ts";
import {
  answerTimeoutMs,
  CONNECT_TIMEOUT_MS,
  IMPATIENT,
  LINES,
  POOL_SIZES,
  type Purpose,
  SETTINGS,
  SLEEPY,
  STATEMENT_TIMEOUT_MS,
} from "./purposes.ts";
import { runQuery } from "./run-query.ts";
import { SpareConnections } from "./spare-connections.ts";
import { StoreHealth } from "./store-health.ts";
import { WaitingLine } from "./waiting-line.ts";

export type Connection = string | pg.ClientConfig;

export interface Statement {
  /**
   * Name of the prepared statement, which each connection prepares once; absent: PostgreSQL plans the statement each
   * time.
   */
  name?: string;
  text: string;
  values?: readonly unknown[];
}

/** Columns in order: numbers, booleans, Buffers for bytea, texts for all other types; null. */
export type Row = unknown[];

export interface Login {
  /** Address of the database: postgres://user:password@host:port/database, or pg's own options. */
  connection: Connection;
  /** Incarnation of the node that uses the store. The names of its connections contain it. */
  incarnation: Incarnation;
  /** Schema of the store; null: the user's search path decides. */
  schema: string | null;
}

export interface ConnectionsOptions extends Login {
  runtime: Runtime;
  log: Logger;
}

/** One connection, valid while the callback of `session` runs. */
export interface Session {
  /** Number of the connection, unique among these `Connections`. */
  readonly connection: number;
  run(statement: Statement): Promise<Row[]>;
}

/** Ends a transaction: runs its last statements, and commits. */
export type TransactionEnd<T> = (answer: T, session: Session, commit: () => Promise<void>) => Promise<void>;

/** Present load of one pool of connections. */
export interface ConnectionLoad {
  purpose: Purpose;
  /** Number of connections in use, of `max`. */
  busy: number;
  max: number;
  /** Number of requests that wait for a connection. */
  waiting: number;
}

const CLOSE_GRACE_MS = 5_000;
const CONNECTION_GONE =
  "The connection to PostgreSQL on which shards were taken over is gone: the database may have gone back since then";

/**
 * Statement that tests whether PostgreSQL has room to write. The table is as large as the writes of a burst, because a
 * small table might fit into free pages of existing files.
 */
const TRY_TO_WRITE = "CREATE TEMP TABLE room ON COMMIT DROP AS SELECT md5(n::text) FROM generate_series(1, 20000) n";

/** The error of a request that got no connection, so that nothing was sent. */
function unasked(error: unknown): unknown {
  if (!(error instanceof StoreUnavailable)) return error;
  return new StoreUnavailable(error.message, { cause: error.cause, isUnasked: true });
}

/** Pools of connections by purpose. A connection is opened when it is needed, and replaced when it breaks. */
export class Connections {
  readonly #pools = new Map<Purpose, pg.Pool>();
  readonly #open = new Set<pg.PoolClient>();
  readonly #numbers = new WeakMap<pg.ClientBase, number>();
  #opened = 0;
  #ended: (connection: number) => void = ignore;
  #makeMonths: (() => Promise<void>) | null = null;
  #making: Promise<void> | null = null;
  /** Whether PostgreSQL has refused a write for lack of room, or as read-only, and has not accepted one since. */
  #refusesWrites = false;
  /** Spare connections, for the hot pools alone. */
  readonly #spare = new Map<Purpose, SpareConnections>();
  readonly #runtime: Runtime;
  readonly #health: StoreHealth;
  /** Waiting lines for the purposes of clients, of whom thousands may read at once. */
  readonly #lines: ReadonlyMap<Purpose, WaitingLine>;

  constructor({ runtime, log, ...login }: ConnectionsOptions) {
    this.#runtime = runtime;
    this.#health = new StoreHealth(runtime);
    this.#lines = new Map(Array.from(LINES, ([purpose, limits]) => [purpose, new WaitingLine(runtime, limits)]));
    const primary = primaryAt(login);
    for (const [purpose, size] of Object.entries(POOL_SIZES) as [Purpose, number][]) {
      const pool = new pg.Pool({
        ...clientConfig(login, purpose),
        Client: primary.Client,
        // Statements of one connection leave without waiting for the answers before them.
        pipeline: purpose === "submit",
        // `runQuery` has its own time limit.
        query_timeout: 0,
        max: size,
        // Connections of the hot path stay open, so that they keep their prepared statements.
        idleTimeoutMillis: SLEEPY.includes(purpose) ? 10_000 : 0,
      });
      // The pool replaces a broken connection when one is needed. Without a listener, the error would end the process.
      pool.on("error", (error) => log.debug({ err: error, purpose }, "an idle connection to PostgreSQL broke"));
      pool.on("connect", (client) => {
        client.on("error", ignore);
        const number = ++this.#opened;
        this.#numbers.set(client, number);
        client.once("end", () => this.#ended(number));
        this.#open.add(client);
      });
      pool.on("remove", (client) => this.#open.delete(client));
      this.#pools.set(purpose, pool);
      if (SETTINGS[purpose].plan_cache_mode !== undefined) this.#spare.set(purpose, new SpareConnections(pool));
    }
  }

  /**
   * Runs a statement.
   * @param on number of the only connection that may run the statement; default: any connection of the purpose
   * @throws {StoreUnavailable} the statement may or may not have been executed; if `on` is gone, it was not executed
   */
  run(purpose: Purpose, statement: Statement, on: number | null = null): Promise<Row[]> {
    return this.#withMonths(() =>
      // A single statement that was refused for its data, or for a conflict, leaves its connection intact.
      this.#borrow(purpose, isRefusal, (client) => {
        if (on !== null && this.#numbers.get(client) !== on) throw new StoreUnavailable(CONNECTION_GONE);
        return this.#ask(purpose, client, statement);
      }),
    );
  }

  /** Runs several statements on one connection, which is closed if any of them failed. */
  session<T>(purpose: Purpose, use: (session: Session) => Promise<T>): Promise<T> {
    return this.#borrow(purpose, never, (client) =>
      use({
        connection: this.#numbers.get(client) ?? 0,
        run: (statement) => this.#ask(purpose, client, statement),
      }),
    );
  }

  /**
   * Runs several statements as one transaction: all of them apply, or none.
   * @param end commits, after its own statements; default: commits
   */
  transaction<T>(
    purpose: Purpose,
    use: (session: Session) => Promise<T>,
    end: TransactionEnd<T> = (_answer, _session, commit) => commit(),
  ): Promise<T> {
    return this.#withMonths(() =>
      this.session(purpose, async (session) => {
        await session.run({ text: "BEGIN" });
        const answer = await use(session);
        await end(answer, session, async () => void (await session.run({ text: "COMMIT" })));
        return answer;
      }),
    );
  }

  /**
   * The same, with a first statement that is sent together with the beginning of the transaction, which saves a round trip. The
   * statement may read and lock, and must write nothing: if the beginning alone fails, the statement runs by itself.
   */
  transactionFrom<T>(
    purpose: Purpose,
    first: Statement,
    use: (rows: Row[], session: Session) => Promise<T>,
    end: TransactionEnd<T>,
  ): Promise<T> {
    return this.#withMonths(() =>
      this.session(purpose, async (session) => {
        const [, rows] = await Promise.all([session.run({ text: "BEGIN" }), session.run(first)]);
        const answer = await use(rows, session);
        await end(answer, session, async () => void (await session.run({ text: "COMMIT" })));
        return answer;
      }),
    );
  }

  /** @param make creates the partitions of missing months; called when a statement needs one, which then runs again */
  makeMonthsBy(make: () => Promise<void>): void {
    this.#makeMonths = make;
  }

  /**
   * Runs work, and if a month has no partition, creates the month and runs the work again. A clock that leaps needs
   * months that upkeep has not created. A statement that was refused for a missing month has changed nothing.
   */
  async #withMonths<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (this.#makeMonths === null || !isMissingMonth(error)) throw error;
      this.#making ??= this.#makeMonths().finally(() => {
        this.#making = null;
      });
      await this.#making;
      return await work();
    }
  }

  /**
   * If a write was refused before, tries another write: a temporary table that needs room and is dropped at once.
   * @throws {StoreUnavailable} PostgreSQL refuses writes
   */
  async checkWrites(): Promise<void> {
    if (!this.#refusesWrites) return;
    await this.transaction("query", (session) => session.run({ text: TRY_TO_WRITE }));
    this.#refusesWrites = false;
  }

  /** @param tell called with the number of each connection that has ended, for whatever reason */
  watchEnds(tell: (connection: number) => void): void {
    this.#ended = tell;
  }

  /** Present load of each pool. */
  load(): ConnectionLoad[] {
    return [...this.#pools].map(([purpose, { totalCount, idleCount, waitingCount, options }]) => {
      const idle = idleCount + (this.#spare.get(purpose)?.count ?? 0);
      const inLine = this.#lines.get(purpose)?.length ?? 0;
      return { purpose, busy: totalCount - idle, max: options.max, waiting: waitingCount + inLine };
    });
  }

  /** Closes all connections, after a limited wait for statements in progress. */
  async close(): Promise<void> {
    const timer = this.#runtime.setTimer(CLOSE_GRACE_MS, () => {
      for (const client of this.#open) void (client as unknown as pg.Client).end().catch(ignore);
    });
    const ended = [...this.#pools.values()].map((pool) => pool.end());
    for (const spare of this.#spare.values()) spare.releaseAll();
    await Promise.all(ended);
    timer.cancel();
    this.#health.stop();
  }

  #borrow<T>(
    purpose: Purpose,
    isHarmless: (error: unknown) => boolean,
    use: (client: pg.PoolClient) => Promise<T>,
  ): Promise<T> {
    const work = () => this.#use(purpose, isHarmless, use);
    if (!IMPATIENT.includes(purpose)) return this.#health.watch(work);
    const watched = () => this.#health.watchForClient(work);
    return this.#lines.get(purpose)?.through(watched) ?? watched();
  }

  async #use<T>(
    purpose: Purpose,
    isHarmless: (error: unknown) => boolean,
    use: (client: pg.PoolClient) => Promise<T>,
  ): Promise<T> {
    let client = this.#spare.get(purpose)?.take();
    try {
      client ??= await this.#pool(purpose).connect();
      const answer = await use(client);
      this.#giveBack(purpose, client);
      // Only a submit shows that writes work again, because a commit of transitions may find room in half-empty pages.
      if (purpose === "submit") this.#refusesWrites = false;
      return answer;
    } catch (error) {
      if (isWriteRefusal(error)) this.#refusesWrites = true;
      if (error instanceof pg.DatabaseError) this.#health.heard();
      client?.release(!isHarmless(error));
      const timeout = purpose === "list" ? listTimeout(error, client === undefined) : null;
      throw timeout ?? (client === undefined ? unasked(storeError(error)) : storeError(error));
    }
  }

  #giveBack(purpose: Purpose, client: pg.PoolClient): void {
    const spare = this.#spare.get(purpose);
    if (spare === undefined) client.release();
    else spare.giveBack(client);
  }

  async #ask(purpose: Purpose, client: pg.PoolClient, statement: Statement): Promise<Row[]> {
    const result = await runQuery(client, queryConfig(statement), answerTimeoutMs(purpose), this.#runtime);
    this.#health.heard();
    return rows(result);
  }

  #pool(purpose: Purpose): pg.Pool {
    const pool = this.#pools.get(purpose);
    if (pool === undefined) throw new Error(`There is no pool of connections for ${purpose}`);
    return pool;
  }
}

/** A session on a connection that the caller opened and closes. */
export function sessionOf(client: pg.ClientBase): Session {
  return { connection: 0, run: async (statement) => rows(await client.query(queryConfig(statement))) };
}

export function clientConfig({ connection, incarnation, schema }: Login, purpose: Purpose): pg.ClientConfig {
  const given = typeof connection === "string" ? fromUrl(connection) : connection;
  return {
    ...given,
    application_name: applicationName(incarnation, purpose),
    options: options(purpose, schema, given.options),
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: answerTimeoutMs(purpose),
  };
}

/** Finds the primary among the servers of `connection`, for clients that are created with its `clientConfig`. */
export function primaryAt(login: Login): Primary {
  const address = typeof login.connection === "string" ? login.connection : null;
  return new Primary(address, clientConfig(login, "read"));
}

/**
 * Parses a database URL. In pg, options of a URL override all others, but takeovers depend on the names that this
 * program gives its connections. pg knows no lists of hosts and gets the first host; `Primary` knows all.
 */
function fromUrl(text: string): pg.ClientConfig {
  const [first] = storeAddresses(text) ?? [text];
  if (!URL.canParse(first)) return { connectionString: first };
  const url = new URL(first);
  const given = url.searchParams.get("options");
  for (const name of ["application_name", "options", "target_session_attrs"]) url.searchParams.delete(name);
  return { connectionString: url.href, ...(given === null ? {} : { options: given }) };
}

/** Quotes a schema for `search_path`, as PostgreSQL itself prints it. */
export function searchPath(schema: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(schema) ? schema : pg.escapeIdentifier(schema);
}

/**
 * Name of a backend in pg_stat_activity, for people and for takeovers; shorter than the 63 bytes that PostgreSQL
 * allows.
 */
export function applicationName(incarnation: Incarnation, purpose: Purpose): string {
  return `mainspring/${incarnation}/${purpose}`;
}

/** Settings of the session, sent when it starts, because they must apply whatever the role or the database sets. */
function options(purpose: Purpose, schema: string | null, given: string | undefined): string {
  const settings: Record<string, string> = {
    // The commit statement reads the fence again after it has waited for its lock; a stricter isolation level would
    // fail instead.
    default_transaction_isolation: "read\\ committed",
    statement_timeout: String(STATEMENT_TIMEOUT_MS),
    idle_in_transaction_session_timeout: String(STATEMENT_TIMEOUT_MS),
    ...SETTINGS[purpose],
    ...(schema !== null && { search_path: searchPath(schema).replace(/[\\\s]/g, "\\$&") }),
  };
  const flags = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  return [...(given === undefined ? [] : [given]), ...flags].join(" ");
}

function queryConfig(statement: Statement): pg.QueryArrayConfig {
  return { ...statement, rowMode: "array", types: TYPES } as pg.QueryArrayConfig;
}

/** The rows of a result. A text with several statements has several results, which no caller uses. */
function rows(result: pg.QueryArrayResult | pg.QueryArrayResult[]): Row[] {
  return Array.isArray(result) ? [] : result.rows;
}

function ignore(): void {}
const never = () => false;
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
