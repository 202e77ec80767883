import { open } from "node:fs/promises";
import { join } from "node:path";
import { sleep, until } from "../../clock.ts";
import type { Proxy } from "../proxy/proxy.ts";
import { Postgres } from "./postgres.ts";
import { findPrograms, type Programs } from "./programs.ts";

const SYNCHRONOUS_WITHIN_MS = 60_000;
const FULL_WITHIN_MS = 60_000;

/** The PostgreSQL of a cluster, which can do all that a PostgreSQL does to those who depend on it. */
export class ClusterStore {
  readonly #programs: Programs;
  readonly #folder: string;
  readonly #links: Proxy[] = [];
  #primary: Postgres;
  #lives = 1;

  private constructor(programs: Programs, folder: string, primary: Postgres) {
    this.#programs = programs;
    this.#folder = folder;
    this.#primary = primary;
  }

  static async open(folder: string): Promise<ClusterStore> {
    const programs = await findPrograms();
    const primary = await Postgres.create({ programs, ...placeOf(folder, 1) });
    await primary.start();
    return new ClusterStore(programs, folder, primary);
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
    const old = this.#primary;
    const standby = await Postgres.standbyOf(old, {
      programs: this.#programs,
      ...placeOf(this.#folder, ++this.#lives),
    });
    await standby.start();
    await old.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await old.sql("SELECT pg_reload_conf()");
    await until("the standby is synchronous", SYNCHRONOUS_WITHIN_MS, async () => {
      const states = await old.sql("SELECT sync_state FROM pg_stat_replication");
      return states.split("\n").includes("sync") ? true : null;
    });
    await before(old.pid);
    await old.end("SIGKILL");
    await standby.sql("SELECT pg_promote()");
    this.#primary = standby;
    for (const link of this.#links) link.lead(standby.target);
    await old.close();
  }

  async close(): Promise<void> {
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
