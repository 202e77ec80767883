import type { TestRedis } from "../../../../tools/services/start-redis.ts";
import { type RedisPair, startRedisPair, startReplica } from "../../../../tools/services/start-redis-pair.ts";
import { sleep } from "../clock.ts";
import type { ChaosStore } from "./chaos-store.ts";
import type { Target } from "./proxy/link-fault.ts";
import type { Proxy } from "./proxy/proxy.ts";

const PREFIX = "mainspring";

/** Redis of a cluster with one replica, and all faults that both can have. */
export class RedisClusterStore implements ChaosStore {
  readonly faults = [
    ...(["STORE_KILLED", "STORE_STOPPED", "STORE_ALONE", "STORE_DOWN", "STORE_FULL", "STORE_FAILED_OVER"] as const),
  ];
  readonly cannotBeFull = null;
  readonly isShared = false;
  readonly settings = { MAINSPRING_REDIS_REPLICAS: "1" };
  readonly #links: Proxy[] = [];
  #primary: TestRedis;
  #replica: TestRedis;

  private constructor({ primary, replica }: RedisPair) {
    this.#primary = primary;
    this.#replica = replica;
  }

  static async open(): Promise<RedisClusterStore> {
    return new RedisClusterStore(await startRedisPair());
  }

  get pid(): number {
    return this.#primary.pid;
  }

  get target(): Target {
    return { host: "127.0.0.1", port: this.#primary.port };
  }

  urlBy(link: Proxy, address: string): string {
    this.#links.push(link);
    return `redis://${address}?prefix=${PREFIX}`;
  }

  async end(): Promise<void> {
    await this.#primary.kill();
  }

  async start(): Promise<void> {
    await this.#primary.restart();
  }

  /** Leaves no memory for new rows. */
  async full(forMs: number): Promise<number> {
    const { ask } = this.#primary;
    const complaints = async () => Number(/errorstat_OOM:count=(\d+)/.exec(await ask("INFO", "errorstats"))?.[1] ?? 0);
    const before = await complaints();
    const [, most = ""] = (await ask("CONFIG", "GET", "maxmemory")).split("\n");
    await ask("CONFIG", "SET", "maxmemory", "1mb");
    await sleep(forMs);
    await ask("CONFIG", "SET", "maxmemory", most);
    return (await complaints()) - before;
  }

  async standStill(part: "PRIMARY" | "REPLICA", forMs: number): Promise<void> {
    const server = part === "PRIMARY" ? this.#primary : this.#replica;
    server.freeze();
    await sleep(forMs);
    server.resume();
  }

  async failOver(before: (pid: number) => Promise<void>): Promise<void> {
    await before(this.pid);
    const [old, promoted] = [this.#primary, this.#replica];
    await old.kill();
    await promoted.promote();
    this.#primary = promoted;
    for (const link of this.#links) link.lead(this.target);
    this.#replica = await startReplica(promoted);
    await old.stop();
  }

  async incarnationAt(address: string): Promise<string> {
    interface Profile {
      name: string;
      incarnation: string;
      startedAt: number;
    }
    const leases = (await this.#primary.ask("HVALS", `${PREFIX}:no`)).split("\n");
    // A lease is three words, and the profile of the node.
    const profiles = leases.flatMap((lease) => {
      const [, text] = /^\S+ \S+ \S+ (\{.*)$/.exec(lease) ?? [];
      return text === undefined ? [] : [JSON.parse(text) as Profile];
    });
    const at = profiles.filter(({ name }) => name === address).sort((a, b) => b.startedAt - a.startedAt);
    return at[0]?.incarnation ?? "";
  }

  async shardsOf(incarnation: string): Promise<number> {
    // An owner is the second word.
    const holders = (await this.#primary.ask("HVALS", `${PREFIX}:sh`)).split("\n");
    return holders.filter((holder) => holder.split(" ")[1] === incarnation).length;
  }

  async close(): Promise<void> {
    await Promise.all([this.#primary.stop(), this.#replica.stop()]);
  }
}
