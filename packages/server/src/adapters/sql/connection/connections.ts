import pg from "pg";
import type { Logger } from "pino";
import type { Incarnation } from "../../../domain/ids.ts";
import type { Runtime } from "../../../ports/runtime.ts";
import { StoreUnavailable } from "../../../ports/store.ts";
import { storeAddresses } from "../../../ports/store-address.ts";
import { answerOf } from "./answer.ts";
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
import { Silence } from "./silence.ts";
import { SpareConnections } from "./spare-connections.ts";
import { WaitingLine } from "./waiting-line.ts";

export type Connection = string | pg.ClientConfig;

export interface Statement {
  /** Prepared under this name, once a connection. Without a name it is planned anew each time. */
  name?: string;
  text: string;
  values?: readonly unknown[];
}

/** Columns in order: numbers, booleans, Buffers for bytea, texts for all else; null. */
export type Row = unknown[];

export interface Login {
  /** postgres://user:password@host:port/database, or the same in pg's own words. */
  connection: Connection;
  /** Incarnation of the node that uses the store. Connections bear it in their names. */
  incarnation: Incarnation;
  /** Schema of the store; null: the search path of the user decides. */
  schema: string | null;
}

export interface ConnectionsOptions extends Login {
  runtime: Runtime;
  log: Logger;
}

/** One connection, for as long as the callback of `session` runs. */
export interface Session {
  /** Which connection it is; no other one of these `Connections` has the same number. */
  readonly connection: number;
  run(statement: Statement): Promise<Row[]>;
}

/** One pool of connections at this moment. */
export interface ConnectionLoad {
  purpose: Purpose;
  /** Connections in use, of `max`; */
  busy: number;
  max: number;
  /** Requests that wait for one. */
  waiting: number;
}

const CLOSE_GRACE_MS = 5_000;
const CONNECTION_GONE =
  "The connection to PostgreSQL on which shards were taken over is gone: the database may have gone back since then";

/** As large as what is written at once: a few pages that are left free in its files say nothing. */
const TRY_TO_WRITE = "CREATE TEMP TABLE room ON COMMIT DROP AS SELECT md5(n::text) FROM generate_series(1, 20000) n";

/** Pools of connections by purpose, opened when needed and replaced when they break. */
export class Connections {
  readonly #pools = new Map<Purpose, pg.Pool>();
  readonly #open = new Set<pg.PoolClient>();
  readonly #numbers = new WeakMap<pg.ClientBase, number>();
  #opened = 0;
  #ended: (connection: number) => void = ignore;
  #makeMonths: (() => Promise<void>) | null = null;
  #making: Promise<void> | null = null;
  /** PostgreSQL has refused a write for want of room, or as read-only, and has not taken one since. */
  #refusesWrites = false;
  /** Spare connections, of the hot pools alone. */
  readonly #spare = new Map<Purpose, SpareConnections>();
  readonly #runtime: Runtime;
  readonly #silence: Silence;
  /** Thousands of clients may read at once. */
  readonly #lines: ReadonlyMap<Purpose, WaitingLine>;

  constructor({ runtime, log, ...login }: ConnectionsOptions) {
    this.#runtime = runtime;
    this.#silence = new Silence(runtime);
    this.#lines = new Map(Array.from(LINES, ([purpose, limits]) => [purpose, new WaitingLine(runtime, limits)]));
    const primary = primaryAt(login);
    for (const [purpose, size] of Object.entries(POOL_SIZES) as [Purpose, number][]) {
      const pool = new pg.Pool({
        ...clientConfig(login, purpose),
        Client: primary.Client,
        // See `answerOf`.
        query_timeout: 0,
        max: size,
        // The hot connections keep their prepared statements.
        idleTimeoutMillis: SLEEPY.includes(purpose) ? 10_000 : 0,
      });
      // A connection that breaks is replaced when one is needed; without listeners it would end the process.
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
   * @param on the number of the only connection that may be used; default: any of the purpose
   * @throws {StoreUnavailable} the statement may or may not have been executed; where `on` is gone it was not
   */
  run(purpose: Purpose, statement: Statement, on: number | null = null): Promise<Row[]> {
    return this.#withMonths(() =>
      // A statement by itself that was refused for its data, or for a conflict, has done nothing to its connection.
      this.#borrow(purpose, isRefusal, (client) => {
        if (on !== null && this.#numbers.get(client) !== on) throw new StoreUnavailable(CONNECTION_GONE);
        return this.#ask(purpose, client, statement);
      }),
    );
  }

  /** Several statements on one connection, which is closed if any of them failed. */
  session<T>(purpose: Purpose, use: (session: Session) => Promise<T>): Promise<T> {
    return this.#borrow(purpose, never, (client) =>
      use({
        connection: this.#numbers.get(client) ?? 0,
        run: (statement) => this.#ask(purpose, client, statement),
      }),
    );
  }

  /** All that is done within is done at once or not at all. */
  transaction<T>(purpose: Purpose, use: (session: Session) => Promise<T>): Promise<T> {
    return this.#withMonths(() =>
      this.session(purpose, async (session) => {
        await session.run({ text: "BEGIN" });
        const answer = await use(session);
        await session.run({ text: "COMMIT" });
        return answer;
      }),
    );
  }

  /** @param make makes the months that are missing now: called when a statement needs one, which is then run again */
  makeMonthsBy(make: () => Promise<void>): void {
    this.#makeMonths = make;
  }

  /**
   * A clock that leaps leads to months which nobody has made ahead. A statement refused for a missing month has changed
   * nothing.
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
   * Tries a write where one was refused, by a table that needs room and is gone at once.
   * @throws {StoreUnavailable} PostgreSQL does not write
   */
  async checkWrites(): Promise<void> {
    if (!this.#refusesWrites) return;
    await this.transaction("query", (session) => session.run({ text: TRY_TO_WRITE }));
    this.#refusesWrites = false;
  }

  /** @param tell called with the number of each connection that has ended, however it did */
  watchEnds(tell: (connection: number) => void): void {
    this.#ended = tell;
  }

  /** How busy each pool is now. */
  load(): ConnectionLoad[] {
    return [...this.#pools].map(([purpose, { totalCount, idleCount, waitingCount, options }]) => {
      const idle = idleCount + (this.#spare.get(purpose)?.count ?? 0);
      const inLine = this.#lines.get(purpose)?.length ?? 0;
      return { purpose, busy: totalCount - idle, max: options.max, waiting: waitingCount + inLine };
    });
  }

  /** Lets what is under way end, for a while. */
  async close(): Promise<void> {
    const timer = this.#runtime.setTimer(CLOSE_GRACE_MS, () => {
      for (const client of this.#open) void (client as unknown as pg.Client).end().catch(ignore);
    });
    const ended = [...this.#pools.values()].map((pool) => pool.end());
    for (const spare of this.#spare.values()) spare.releaseAll();
    await Promise.all(ended);
    timer.cancel();
    this.#silence.stop();
  }

  #borrow<T>(
    purpose: Purpose,
    isHarmless: (error: unknown) => boolean,
    use: (client: pg.PoolClient) => Promise<T>,
  ): Promise<T> {
    const work = () => this.#use(purpose, isHarmless, use);
    if (!IMPATIENT.includes(purpose)) return this.#silence.watch(work);
    const watched = () => this.#silence.watchImpatiently(work);
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
      // A commit of transitions may find room in pages that are half empty.
      if (purpose === "submit") this.#refusesWrites = false;
      return answer;
    } catch (error) {
      if (isWriteRefusal(error)) this.#refusesWrites = true;
      if (error instanceof pg.DatabaseError) this.#silence.heard();
      client?.release(!isHarmless(error));
      throw (purpose === "list" ? listTimeout(error, client === undefined) : null) ?? storeError(error);
    }
  }

  #giveBack(purpose: Purpose, client: pg.PoolClient): void {
    const spare = this.#spare.get(purpose);
    if (spare === undefined) client.release();
    else spare.giveBack(client);
  }

  async #ask(purpose: Purpose, client: pg.PoolClient, statement: Statement): Promise<Row[]> {
    const result = await answerOf(client, queryConfig(statement), answerTimeoutMs(purpose), this.#runtime);
    this.#silence.heard();
    return rows(result);
  }

  #pool(purpose: Purpose): pg.Pool {
    const pool = this.#pools.get(purpose);
    if (pool === undefined) throw new Error(`There is no pool of connections for ${purpose}`);
    return pool;
  }
}

/** Statements on a connection that somebody else opened, and closes. */
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

/** The primary of what `connection` names, for clients that are made from its `clientConfig`. */
export function primaryAt(login: Login): Primary {
  const address = typeof login.connection === "string" ? login.connection : null;
  return new Primary(address, clientConfig(login, "read"));
}

/**
 * In pg what a URL says goes before everything else; takeovers depend on the name that we give our connections. pg knows
 * no list of hosts and gets the first one; `Primary` knows all.
 */
function fromUrl(text: string): pg.ClientConfig {
  const [first] = storeAddresses(text) ?? [text];
  if (!URL.canParse(first)) return { connectionString: first };
  const url = new URL(first);
  const given = url.searchParams.get("options");
  for (const name of ["application_name", "options", "target_session_attrs"]) url.searchParams.delete(name);
  return { connectionString: url.href, ...(given === null ? {} : { options: given }) };
}

/** A schema as `search_path` takes it, and says it. */
export function searchPath(schema: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(schema) ? schema : pg.escapeIdentifier(schema);
}

/** How a backend is known in pg_stat_activity, to people and to takeovers; shorter than the 63 bytes that fit. */
export function applicationName(incarnation: Incarnation, purpose: Purpose): string {
  return `mainspring/${incarnation}/${purpose}`;
}

/** Settings of the session, sent when it starts. They must hold whatever the role or the database has set. */
function options(purpose: Purpose, schema: string | null, given: string | undefined): string {
  const settings: Record<string, string> = {
    // The fence is read again after waiting for its lock; a stricter level would fail instead.
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

/** Several statements in one text have several results, which nobody asks for. */
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
