import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { postgresBinaries } from "../../../../tools/services/postgres-binaries.ts";
import { until } from "../clock.ts";
import type { Ledger, Statistics } from "../contenders/contender.ts";
import { leash } from "./leash.ts";

const run = promisify(execFile);

/** Settings that differ from PostgreSQL's own defaults. */
export const POSTGRES_SETTINGS = {
  shared_buffers: "512MB",
  fsync: "on",
  max_connections: "200",
  // Statements of a few microseconds gain nothing from being compiled; it is the peers' that would be.
  jit: "off",
  shared_preload_libraries: "pg_stat_statements",
} as const;

const ROLE = "postgres";
const PORT = 5432;

/** The PostgreSQL of this machine, on a data folder of its own. */
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

  static async start(): Promise<Postgres> {
    const binaries = join(await postgresBinaries("system"), "bin");
    const folder = await mkdtemp(join(tmpdir(), "bench-postgres-"));
    const owner = await ownerOf(folder);
    const data = join(folder, "data");
    // No user may be asked for a password: its socket is in a folder that only they can enter.
    const make = ["-D", data, "-U", ROLE, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-instructions"];
    await run(join(binaries, "initdb"), make, { ...owner, cwd: folder });
    const settings = { ...POSTGRES_SETTINGS, listen_addresses: "", unix_socket_directories: folder };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const stdio = ["ignore", "ignore", "ignore"] as const;
    const child = spawn(join(binaries, "postgres"), ["-D", data, ...args], {
      ...owner,
      cwd: folder,
      stdio: [...stdio],
    });
    leash(child, folder);
    const admin = await until("PostgreSQL", 30_000, 100, () => connected(folder, child));
    const { rows } = await admin.query<{ server_version: string }>("SHOW server_version");
    const postgres = new Postgres(folder, child, admin, rows[0]?.server_version ?? "");
    // Only while statements are counted: a setting of the command line could not be changed.
    await postgres.#track("none");
    return postgres;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** An empty database, with what was written before it out of the way. */
  async database(): Promise<Database> {
    const name = `rig_${++this.#databases}`;
    await this.#admin.query(`CREATE DATABASE ${name}`);
    await this.#admin.query("CHECKPOINT");
    const client = await connect(this.#folder, name);
    return {
      url: `postgres://${ROLE}@${encodeURIComponent(this.#folder)}:${PORT}/${name}`,
      client,
      pid: this.pid,
      vacuum: async (statistics) => {
        await client.query(statistics === "FRESH" ? "VACUUM (ANALYZE)" : "VACUUM");
        await client.query("CHECKPOINT");
      },
      ledger: () => ledgerOf(client),
      statementsDuring: (work) => this.#statementsDuring(name, work),
      drop: async () => {
        await client.end();
        // Connections that are being closed are not to be told that they were terminated.
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

/** One of its databases. */
export interface Database {
  readonly url: string;
  /** For the benchmark's own questions. */
  readonly client: pg.Client;
  /** Process id of PostgreSQL. */
  readonly pid: number;
  /** And writes all through that was written before. */
  vacuum(statistics: Statistics): Promise<void>;
  ledger(): Promise<Ledger>;
  /** Counts its statements while something happens. */
  statementsDuring(work: () => Promise<void>): Promise<number>;
  drop(): Promise<void>;
}

/** Transactions that wrote are those that took an id; PostgreSQL's own counters come up to ten seconds late. */
async function ledgerOf(client: pg.Client): Promise<Ledger> {
  const { rows } = await client.query<{ log: string; writes: string }>(
    "SELECT pg_current_wal_lsn() - '0/0' AS log, pg_snapshot_xmax(pg_current_snapshot()) AS writes",
  );
  return { logBytes: Number(rows[0]?.log), rewrites: 0, writes: Number(rows[0]?.writes) };
}

async function connect(folder: string, database: string): Promise<pg.Client> {
  const client = new pg.Client({ host: folder, port: PORT, user: ROLE, database });
  await client.connect();
  return client;
}

async function connected(folder: string, child: ChildProcess): Promise<pg.Client | null> {
  if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}`);
  return await connect(folder, ROLE).catch(() => null);
}

/** PostgreSQL does not run as root. */
async function ownerOf(folder: string): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const line = /^postgres:[^:]*:(\d+):(\d+):/m.exec(await readFile("/etc/passwd", "utf8"));
  if (line === null) throw new Error("root cannot run PostgreSQL, and there is no user postgres that could");
  const [uid, gid] = [Number(line[1]), Number(line[2])];
  await chown(folder, uid, gid);
  return { uid, gid };
}
