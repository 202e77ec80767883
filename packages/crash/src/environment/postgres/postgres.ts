import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { sleep, until } from "../../clock.ts";
import { type Child, startProgram } from "../child.ts";
import type { Target } from "../proxy/link-fault.ts";
import { Disk } from "./disk.ts";
import type { Programs } from "./programs.ts";

const READY_WITHIN_MS = 120_000;
/** Port of the socket in its folder, unless the settings have another one. */
const PORT = "5432";
const ROLE = "mainspring";
const DATABASE = "postgres";

const SETTINGS = {
  listen_addresses: "",
  max_connections: "120",
  wal_level: "replica",
  max_wal_size: "256MB",
  min_wal_size: "64MB",
  timezone: "UTC",
  // The log must show statements that fail for lack of space; the text of a statement adds nothing.
  log_min_messages: "error",
  log_min_error_statement: "panic",
  log_checkpoints: "off",
};

interface PostgresOptions {
  programs: Programs;
  /** New folder. */
  folder: string;
  logFile: string;
  /** Settings of postgresql.conf in addition to those of every store; default: none. */
  settings?: Readonly<Record<string, string>>;
}

/** A PostgreSQL that only its owner restarts. */
export class Postgres {
  readonly disk: Disk;
  readonly logFile: string;
  readonly #programs: Programs;
  readonly #settings: Readonly<Record<string, string>>;
  #child: Child | null = null;

  private constructor(disk: Disk, { programs, logFile, settings = {} }: PostgresOptions) {
    this.disk = disk;
    this.logFile = logFile;
    this.#programs = programs;
    this.#settings = settings;
  }

  /** Creates a PostgreSQL with an empty database. */
  static async create(options: PostgresOptions): Promise<Postgres> {
    const postgres = await Postgres.#on(options);
    const args = ["-D", postgres.#data, "-U", ROLE, "--encoding=UTF8", "--no-locale", "--auth=trust", "--no-sync"];
    await options.programs.run("initdb", args);
    return postgres;
  }

  /** Creates a standby of another PostgreSQL, without starting it. */
  static async standbyOf(primary: Postgres, options: PostgresOptions): Promise<Postgres> {
    const postgres = await Postgres.#on(options);
    const from = ["-h", primary.disk.folder, "-p", PORT, "-U", ROLE];
    await options.programs.run("pg_basebackup", [
      ...from,
      ...["-D", postgres.#data, "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"],
    ]);
    return postgres;
  }

  static async #on(options: PostgresOptions): Promise<Postgres> {
    return new Postgres(await Disk.open(options.folder, options.programs.user), options);
  }

  get target(): Target {
    return { path: join(this.disk.folder, `.s.PGSQL.${PORT}`) };
  }

  /** URL of the store, where `address` (host:port) leads to `target`. */
  urlAt(address: string): string {
    return `postgres://${ROLE}@${address}/${DATABASE}`;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.endedBy() === null;
  }

  /**
   * Starts PostgreSQL, and tries again if the remains of an earlier process block the start. @returns promise that
   * resolves when it accepts connections
   */
  async start(): Promise<void> {
    await until("PostgreSQL is ready", READY_WITHIN_MS, async () => {
      if (!this.isRunning) {
        await sleep(100);
        this.#launch();
      }
      return (await this.#state()) ? true : null;
    });
  }

  /**
   * Ends PostgreSQL: SIGKILL as when a machine dies, SIGQUIT as `pg_ctl stop -m immediate`, SIGINT in an orderly way.
   * @returns promise that resolves when it has ended
   */
  async end(signal: "SIGKILL" | "SIGQUIT" | "SIGINT"): Promise<void> {
    const child = this.#child;
    this.#child = null;
    child?.signal(signal);
    await child?.ended;
  }

  /** @returns rows as lines, with | between columns */
  sql(text: string): Promise<string> {
    const to = ["-h", this.disk.folder, "-p", PORT, "-U", ROLE, "-d", DATABASE];
    return this.#programs.run("psql", [...to, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text]);
  }

  /** Stops PostgreSQL and removes its data. */
  async close(): Promise<void> {
    await this.end("SIGQUIT");
    this.disk.close();
  }

  get #data(): string {
    return join(this.disk.folder, "data");
  }

  #launch(): void {
    const settings = { ...SETTINGS, unix_socket_directories: this.disk.folder, ...this.#settings };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const { user, path } = this.#programs;
    this.#child = startProgram(path("postgres"), ["-D", this.#data, "-p", PORT, ...args], {
      logFile: this.logFile,
      ...(user !== null && { user }),
    });
  }

  /** Whether PostgreSQL is ready, by the eighth line of this file. */
  async #state(): Promise<boolean> {
    const lines = (await readFile(join(this.#data, "postmaster.pid"), "utf8").catch(() => "")).split("\n");
    return Number(lines[0]) === this.pid && ["ready", "standby"].includes(lines[7]?.trim() ?? "");
  }
}
