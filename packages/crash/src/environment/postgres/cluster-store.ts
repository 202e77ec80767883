import { open } from "node:fs/promises";
import { join } from "node:path";
import { sleep, until } from "../../clock.ts";
import type { ChaosStore, StoreFault } from "../chaos-store.ts";
import type { Proxy } from "../proxy/proxy.ts";
import { Postgres } from "./postgres.ts";
import { findPrograms, type Programs } from "./programs.ts";
import { Seats } from "./seats.ts";

const SYNCHRONOUS_WITHIN_MS = 60_000;
const FULL_WITHIN_MS = 60_000;

/** PostgreSQL of a cluster, with all faults that a PostgreSQL can have. */
export class ClusterStore implements ChaosStore {
  readonly isShared = true;
  readonly settings = {};
  /** A postmaster that stands still stops no connection. */
  readonly standStill = null;
  readonly #programs: Programs;
  readonly #folder: string;
  readonly #links: Proxy[] = [];
  readonly #seats: Seats;
  #primary: Postgres;
  #lives = 1;

  private constructor(programs: Programs, folder: string, primary: Postgres, seats: Seats) {
    this.#seats = seats;
    this.#programs = programs;
    this.#folder = folder;
    this.#primary = primary;
  }

  static async open(folder: string): Promise<ClusterStore> {
    const programs = await findPrograms();
    const primary = await Postgres.create({ programs, ...placeOf(folder, 1) });
    await primary.start();
    const seats = await Seats.open(primary.target, { path: join(folder, "nobody") });
    return new ClusterStore(programs, folder, primary, seats);
  }

  get pid(): number {
    return this.#primary.pid;
  }

  get faults(): StoreFault[] {
    const always = ["STORE_KILLED", "STORE_ABORTED", "STORE_DOWN", "STORE_FAILED_OVER"] as const;
    return this.cannotBeFull === null ? [...always, "STORE_FULL"] : [...always];
  }

  /** Reason why the disk cannot be filled on this machine; null: it can. */
  get cannotBeFull(): string | null {
    return this.#primary.disk.unavailable;
  }

  get target() {
    return this.#primary.target;
  }

  urlBy(link: Proxy, address: string): string {
    this.#links.push(link);
    return this.#primary.urlAt(address);
  }

  /** URL with the addresses of primary and standby, valid even when these change. */
  get urlOfAll(): string {
    return `${this.#primary.urlAt(this.#seats.hosts)}?target_session_attrs=read-write`;
  }

  /** URL of the primary without proxies, valid until the primary is replaced. */
  get url(): string {
    const { folder } = this.#primary.disk;
    return this.#primary.urlAt(encodeURIComponent(folder));
  }

  incarnationAt(address: string): Promise<string> {
    return this.sql(`SELECT incarnation FROM nodes WHERE name = '${address}' ORDER BY started_at DESC LIMIT 1`);
  }

  async shardsOf(incarnation: string): Promise<number> {
    return Number(await this.sql(`SELECT count(*) FROM shards WHERE owner = '${incarnation}'`));
  }

  /** Runs a statement directly, without proxies. */
  sql(text: string): Promise<string> {
    return this.#primary.sql(text);
  }

  end(signal: "SIGKILL" | "SIGQUIT"): Promise<void> {
    return this.#primary.end(signal);
  }

  start(): Promise<void> {
    return this.#primary.start();
  }

  /**
   * Fills the disk for a time.
   * @returns number of PostgreSQL's complaints; waits until there is one
   */
  async full(forMs: number): Promise<number> {
    const { disk, logFile } = this.#primary;
    const before = await complaints(logFile);
    await disk.fill();
    try {
      const counted = async () => (await complaints(logFile)) - before;
      await until(
        "PostgreSQL has no space left",
        FULL_WITHIN_MS,
        async () => ((await counted()) > 0 ? true : null),
        100,
      );
      await sleep(forMs);
      return await counted();
    } finally {
      await disk.free();
      // PostgreSQL may have ended.
      await this.#primary.start();
    }
  }

  /** Adds a standby for which every commit waits before the primary is killed. */
  async failOver(before: (pid: number) => Promise<void>): Promise<void> {
    const standby = await this.#addStandby();
    await this.#primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await this.#primary.sql("SELECT pg_reload_conf()");
    await this.#replicates("sync");
    await before(this.#primary.pid);
    await this.#primary.end("SIGKILL");
    await this.#promote(standby);
  }

  /**
   * The same as `failOver` with a standby for which no commit waits.
   * @param lagMs time before its end from which on the primary sends the standby nothing, in milliseconds
   */
  async failOverBehind(lagMs: number, before: (pid: number) => Promise<void>): Promise<void> {
    const standby = await this.#addStandby();
    await this.#replicates("async");
    const sender = Number(await this.#primary.sql("SELECT pid FROM pg_stat_replication"));
    await before(this.#primary.pid);
    process.kill(sender, "SIGSTOP");
    await sleep(lagMs);
    // The sender would outlive the primary and send the rest.
    process.kill(sender, "SIGKILL");
    await this.#primary.end("SIGKILL");
    await this.#promote(standby);
  }

  async #addStandby(): Promise<Postgres> {
    const place = placeOf(this.#folder, ++this.#lives);
    const standby = await Postgres.standbyOf(this.#primary, { programs: this.#programs, ...place });
    await standby.start();
    this.#seats.take(standby.target);
    return standby;
  }

  async #replicates(as: "sync" | "async"): Promise<void> {
    await until(`the standby is ${as}`, SYNCHRONOUS_WITHIN_MS, async () => {
      const states = await this.#primary.sql("SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'");
      return states.split("\n").includes(as) ? true : null;
    });
  }

  async #promote(standby: Postgres): Promise<void> {
    await standby.sql("SELECT pg_promote()");
    const old = this.#primary;
    this.#primary = standby;
    for (const link of this.#links) link.lead(standby.target);
    await old.close();
  }

  async close(): Promise<void> {
    await this.#seats.close();
    await this.#primary.close();
  }
}

function placeOf(folder: string, life: number): { folder: string; logFile: string } {
  return { folder: join(folder, `pg${life}`), logFile: join(folder, `postgres-${life}.log`) };
}

async function complaints(logFile: string): Promise<number> {
  const file = await open(logFile);
  let count = 0;
  for await (const line of file.readLines()) if (line.includes("No space left on device")) count++;
  return count;
}
