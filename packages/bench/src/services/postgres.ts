import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { until } from "../clock.ts";
import type { Ledger, Statistics } from "../contenders/contender.ts";
import { leash } from "./leash.ts";
import { type PostgresRelease, programsOf } from "./postgres-programs.ts";

const run = promisify(execFile);

/** Settings that differ from PostgreSQL's defaults. */
export const POSTGRES_SETTINGS = {
  shared_buffers: "512MB",
  fsync: "on",
  max_connections: "200",
  // Statements of a few microseconds gain nothing from compilation; only the peers' statements would be compiled.
  jit: "off",
  shared_preload_libraries: "pg_stat_statements",
} as const;

const ROLE = "postgres";
const PORT = 5432;

/** A PostgreSQL on a data folder of its own. */
export class Postgres implements AsyncDisposable {
  readonly version: string;
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #admin: pg.Client;
  #databases = 0;

  private constructor(folder: string, child: ChildProcess, admin: pg.Client, version: string) {
    this.#folder = folder;
    this.#child = child;
    this.#admin = admin;
    this.version = version;
  }

  static async start(release: PostgresRelease): Promise<Postgres> {
    const folder = await mkdtemp(join(tmpdir(), "bench-postgres-"));
    const owner = await ownerOf(folder);
    const { programs, env } = await programsOf(release, folder);
    const data = join(folder, "data");
    // The socket is in a folder that only these users can enter, so no password is needed.
    const make = ["-D", data, "-U", ROLE, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-instructions"];
    const options = { ...owner, cwd: folder, env: { ...process.env, ...env } };
    await run(join(programs, "initdb"), make, options);
    const settings = { ...POSTGRES_SETTINGS, listen_addresses: "", unix_socket_directories: folder };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = spawn(join(programs, "postgres"), ["-D", data, ...args], { ...options, stdio: "ignore" });
    leash(child, folder);
    const admin = await until("PostgreSQL", 30_000, 100, () => connected(folder, child));
    const { rows } = await admin.query<{ server_version: string }>("SHOW server_version");
    const postgres = new Postgres(folder, child, admin, rows[0]?.server_version ?? "");
    // Tracking is on only while statements are counted; a setting on the command line could not be changed.
    await postgres.#track("none");
    return postgres;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Creates an empty database, after earlier writes have reached the disk. */
  async database(): Promise<Database> {
    const name = `rig_${++this.#databases}`;
    await this.#admin.query(`CREATE DATABASE ${name}`);
    await this.#admin.query("CHECKPOINT");
    const client = await connect(this.#folder, name);
    // Earlier releases of Mainspring have their tables in the default schema.
    await client.query("SET search_path TO mainspring, public");
    return {
      url: `postgres://${ROLE}@${encodeURIComponent(this.#folder)}:${PORT}/${name}`,
      client,
      pid: this.pid,
      storedBytes: async () => Number((await client.query<{ bytes: string }>(STORED)).rows[0]?.bytes),
      holdSnapshot: () => holdSnapshot(this.#folder, name),
      vacuum: async (statistics) => {
        await client.query(statistics === "FRESH" ? "VACUUM (ANALYZE)" : "VACUUM");
        await client.query("CHECKPOINT");
      },
      ledger: () => ledgerOf(client),
      writes: async () => Number((await client.query<{ writes: string }>(WRITES)).rows[0]?.writes),
      statementsDuring: (work) => this.#statementsDuring(name, work),
      drop: async () => {
        await client.end();
        // The wait keeps connections that are being closed from an error about their termination.
        await until("the end of all connections", 30_000, 20, async () => ((await this.#isLeft(name)) ? true : null));
        await this.#admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      },
    };
  }

  async #statementsDuring(database: string, work: () => Promise<void>): Promise<number> {
    await this.#admin.query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
    await this.#track("all");
    await this.#admin.query("SELECT pg_stat_statements_reset()");
    await work();
    const { rows } = await this.#admin.query<{ calls: string }>(
      "SELECT sum(calls) AS calls FROM pg_stat_statements JOIN pg_database ON oid = dbid WHERE datname = $1",
      [database],
    );
    await this.#track("none");
    return Number(rows[0]?.calls ?? 0);
  }

  async #isLeft(database: string): Promise<boolean> {
    const { rows } = await this.#admin.query("SELECT 1 FROM pg_stat_activity WHERE datname = $1 LIMIT 1", [database]);
    return rows.length === 0;
  }

  async #track(what: string): Promise<void> {
    await this.#admin.query(`ALTER SYSTEM SET pg_stat_statements.track = '${what}'`);
    await this.#admin.query("SELECT pg_reload_conf()");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#admin.end();
    this.#child.kill("SIGINT");
    await once(this.#child, "exit");
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** A database of this PostgreSQL. */
export interface Database {
  readonly url: string;
  /** Client for the benchmark's own queries. */
  readonly client: pg.Client;
  /** Process id of PostgreSQL. */
  readonly pid: number;
  /** Vacuums the database, and writes all earlier changes to disk. */
  vacuum(statistics: Statistics): Promise<void>;
  ledger(): Promise<Ledger>;
  /** Size of all tables and indexes, in bytes. */
  storedBytes(): Promise<number>;
  /** Opens a transaction with a snapshot, on a connection of its own, which ends when it is disposed of. */
  holdSnapshot(): Promise<AsyncDisposable>;
  /** Number of transactions that wrote and have ended, since the data folder was created. Costs the same however many rows there are. */
  writes(): Promise<number>;
  /** Counts the statements during some work. */
  statementsDuring(work: () => Promise<void>): Promise<number>;
  drop(): Promise<void>;
}

const STORED = "SELECT pg_database_size(current_database()) AS bytes";
const WRITES = "SELECT pg_snapshot_xmax(pg_current_snapshot()) AS writes";

/** Transactions that wrote are those with an id; PostgreSQL's own counters are up to ten seconds late. */
async function ledgerOf(client: pg.Client): Promise<Ledger> {
  const { rows } = await client.query<{ log: string; writes: string }>(
    "SELECT pg_current_wal_lsn() - '0/0' AS log, pg_snapshot_xmax(pg_current_snapshot()) AS writes",
  );
  return { logBytes: Number(rows[0]?.log), rewrites: 0, writes: Number(rows[0]?.writes) };
}

async function holdSnapshot(folder: string, database: string): Promise<AsyncDisposable> {
  const client = await connect(folder, database);
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  // The first statement of a transaction takes its snapshot.
  await client.query("SELECT count(*) FROM pg_class");
  return { [Symbol.asyncDispose]: () => client.end() };
}

async function connect(folder: string, database: string): Promise<pg.Client> {
  const client = new pg.Client({ host: folder, port: PORT, user: ROLE, database });
  // The connection of a run that failed ends with PostgreSQL, which must not end the session. A query on it fails anyway.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

async function connected(folder: string, child: ChildProcess): Promise<pg.Client | null> {
  if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}`);
  return await connect(folder, ROLE).catch(() => null);
}

/** Owner of the folder, because PostgreSQL does not run as root. */
async function ownerOf(folder: string): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const users = await readFile("/etc/passwd", "utf8");
  const line = /^postgres:[^:]*:(\d+):(\d+):/m.exec(users) ?? /^nobody:[^:]*:(\d+):(\d+):/m.exec(users);
  if (line === null) throw new Error("root cannot run PostgreSQL, and there is no user postgres or nobody that could");
  const [uid, gid] = [Number(line[1]), Number(line[2])];
  await chown(folder, uid, gid);
  return { uid, gid };
}
