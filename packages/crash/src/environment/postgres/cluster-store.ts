import { open } from "node:fs/promises";
import { join } from "node:path";
import { sleep, until } from "../../clock.ts";
import type { Proxy } from "../proxy/proxy.ts";
import { Postgres } from "./postgres.ts";
import { findPrograms, type Programs } from "./programs.ts";
import { Seats } from "./seats.ts";

const SYNCHRONOUS_WITHIN_MS = 60_000;
const FULL_WITHIN_MS = 60_000;

/** The PostgreSQL of a cluster, which can do all that a PostgreSQL does to those who depend on it. */
export class ClusterStore {
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

  /** Why it cannot run out of space on this machine; null: it can. */
  get cannotBeFull(): string | null {
    return this.#primary.disk.unavailable;
  }

  get target() {
    return this.#primary.target;
  }

  /** The link leads to this store from now on, whichever PostgreSQL it is. @returns what a node is to be started with */
  urlBy(link: Proxy, address: string): string {
    this.#links.push(link);
    return this.#primary.urlAt(address);
  }

  /** The addresses of primary and standby, which go on being valid when these change: what a node is to be started with. */
  get urlOfAll(): string {
    return `${this.#primary.urlAt(this.#seats.hosts)}?target_session_attrs=read-write`;
  }

  /** The primary itself, around all links: valid until it is replaced. */
  get url(): string {
    const { folder } = this.#primary.disk;
    return this.#primary.urlAt(encodeURIComponent(folder));
  }

  /** Asked directly, around all links. */
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
   * Leaves no space for so long.
   * @returns how often PostgreSQL complained about it; waits until it did
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
      // It may have given up altogether.
      await this.#primary.start();
    }
  }

  /**
   * Adds a standby that every commit waits for, kills the primary under load and promotes the standby.
   * @param before resolves when the primary may be killed; hears its process id
   */
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
   * The same with a standby that no commit waits for.
   * @param lagMs how long before its end the primary sends the standby nothing more
   */
  async failOverBehind(lagMs: number, before: (pid: number) => Promise<void>): Promise<void> {
    const standby = await this.#addStandby();
    await this.#replicates("async");
    const sender = Number(await this.#primary.sql("SELECT pid FROM pg_stat_replication"));
    await before(this.#primary.pid);
    process.kill(sender, "SIGSTOP");
    await sleep(lagMs);
    // It would outlive the primary, and send the rest.
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
