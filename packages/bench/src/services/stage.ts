import { PROFILES, usableServers } from "../../../../tools/profile/profiles.ts";
import { type RunningServers, startServers } from "../../../../tools/profile/running.ts";
import { SERVERS, type Settings } from "../../../../tools/profile/servers.ts";
import { DURABLE } from "../../../../tools/services/durable-redis.ts";
import { startKafka, type TestKafka } from "../../../../tools/services/start-kafka.ts";
import { startRedis, type TestRedis } from "../../../../tools/services/start-redis.ts";
import { Postgres } from "./postgres.ts";
import type { PostgresRelease } from "./postgres-programs.ts";

/**
 * Number of jobs that every contender runs before the measurement, in the measured processes. After 40,000 the CPU per
 * job no longer falls, because a server that has run for a minute is compiled.
 */
export function warmUpJobsOf(isQuick: boolean): number {
  return isQuick ? 10_000 : 40_000;
}

/** Servers that all contenders of a run share, started at their first use. */
export class Stage implements AsyncDisposable {
  /** Number of jobs that each contender runs before it is measured. */
  readonly warmUpJobs: number;
  readonly #release: PostgresRelease;
  #postgres: Promise<Postgres> | null = null;
  #kafka: Promise<TestKafka> | null = null;
  readonly #profiles = new Map<string, Promise<RunningServers>>();
  #redis: Promise<TestRedis> | null = null;
  #storeRedis: Promise<TestRedis> | null = null;

  constructor(warmUpJobs: number, release: PostgresRelease) {
    this.warmUpJobs = warmUpJobs;
    this.#release = release;
  }

  postgres(): Promise<Postgres> {
    this.#postgres ??= Postgres.start(this.#release);
    return this.#postgres;
  }

  kafka(): Promise<TestKafka> {
    this.#kafka ??= startKafka();
    return this.#kafka;
  }

  /** Starts all servers of a profile but its PostgreSQL, which is that of the benchmark. @returns settings of its nodes */
  async besidePostgres(name: string): Promise<Settings> {
    const running = this.#profiles.get(name) ?? startBesidePostgres(name);
    this.#profiles.set(name, running);
    return { ...(await running).settings, ...PROFILES[name]?.settings };
  }

  /** Redis that servers of Mainspring have beside their PostgreSQL. Peers start Redis servers of their own. */
  redis(): Promise<TestRedis> {
    this.#redis ??= startRedis();
    return this.#redis;
  }

  /** Redis that is the store of a server of Mainspring. */
  storeRedis(): Promise<TestRedis> {
    this.#storeRedis ??= startRedis({ settings: [...DURABLE, "--maxmemory", "4gb"] });
    return this.#storeRedis;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const servers of this.#profiles.values()) await (await servers).stop();
    await (await this.#kafka)?.stop();
    await (await this.#redis)?.stop();
    await (await this.#storeRedis)?.stop();
    await (await this.#postgres)?.[Symbol.asyncDispose]();
  }
}

function startBesidePostgres(name: string): Promise<RunningServers> {
  const profile = PROFILES[name];
  if (profile === undefined) throw new Error(`there is no profile ${name}`);
  const names = usableServers(profile).usable.filter((server) => server !== "postgresql");
  return startServers(
    names.map((server) => SERVERS[server]),
    () => undefined,
  );
}
