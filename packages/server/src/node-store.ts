import type { StatsBody } from "@mainspring/contract";
import type { Logger } from "pino";
import { startEmbedded } from "./adapters/embedded/embedded-postgres.ts";
import { EtcdLeases } from "./adapters/etcd/etcd-leases.ts";
import { RowsBeside } from "./adapters/etcd/rows-beside.ts";
import { openRedisStore, type RedisStore } from "./adapters/redis-store/redis-store.ts";
import { openSqlStore, type SqlStore } from "./adapters/sql/sql-store.ts";
import { type Config, ConfigError } from "./ops/config.ts";
import type { Lifecycle } from "./ops/lifecycle.ts";
import { patiently } from "./patience.ts";
import type { Bus } from "./ports/bus.ts";
import type { Leases } from "./ports/leases.ts";
import type { Runtime } from "./ports/runtime.ts";
import { StoreUnusable } from "./ports/store.ts";
import { StoreMarked } from "./ports/store-errors.ts";
import type { Telling } from "./telling.ts";

/** Dependencies of the store and the leases of a node. */
interface StoreGround {
  config: Config;
  program: { level: number };
  runtime: Runtime;
  log: Logger;
  bus: Pick<Bus, "node">;
  life: Lifecycle;
  telling: Telling;
}

/** Store of a node, with what a node shows of its connections. */
export type NodeStore = SqlStore | RedisStore;

/**
 * Opens the store, with an embedded PostgreSQL if there is no other.
 * @returns `failed`: resolves with the reason if the embedded PostgreSQL has ended
 */
export async function openStore(ground: StoreGround): Promise<{ store: NodeStore; failed: Promise<Error> }> {
  const { config, program, runtime, log, bus, life } = ground;
  if (config.redisStore !== null) {
    const { isRelaxed } = config.redisStore;
    if (isRelaxed)
      log.warn(
        "MAINSPRING_REDIS_DURABILITY is relaxed: a crash of Redis or of its machine may lose jobs that were accepted",
      );
    const { level } = program;
    const claim = { isShared: config.bus === "mesh", log };
    const own = { ...config.redisStore, runtime, node: bus.node, events: ground.telling.isOn, level, claim };
    const store = await patiently("the store", () => openRedisStore(own), ground).catch(asConfigFault);
    life.started("store", () => store.close());
    return { store, failed: new Promise<Error>(() => undefined) };
  }
  let connection: Parameters<typeof openSqlStore>[0]["connection"] = config.store;
  let failed = new Promise<Error>(() => undefined);
  if (config.store === "embedded") {
    const postgres = await startEmbedded({ dataDir: config.dataDir, runtime, log });
    life.started("PostgreSQL", () => postgres.stop());
    connection = postgres.connection;
    failed = postgres.exited;
  }
  const options = {
    ...{ connection, schema: config.storeSchema, incarnation: bus.node, runtime, log },
    ...{ isShared: config.bus === "mesh", level: program.level, events: ground.telling.isOn },
  };
  const store = await patiently("the store", () => openSqlStore(options), ground).catch(asMarkFault);
  life.started("store", () => store.close());
  return { store, failed };
}

/** A Redis that cannot be the store stays so until a person changes a setting, so that a supervisor need not try again. */
function asConfigFault(error: unknown): never {
  throw error instanceof StoreUnusable ? new ConfigError(error.message) : error;
}

/** A mark stays until a person does what its message says. */
function asMarkFault(error: unknown): never {
  throw error instanceof StoreMarked ? new ConfigError(error.message) : error;
}

/** Durability of the store, as far as the settings choose it. */
export function durabilityOf({ store, redisStore }: Pick<Config, "store" | "redisStore">): StatsBody["durability"] {
  if (redisStore === null)
    return { store: store === "embedded" ? "EMBEDDED" : "POSTGRESQL", disk: "ALWAYS", replicas: 0 };
  const { isRelaxed, replicas } = redisStore;
  return { store: "REDIS", disk: isRelaxed ? "RELAXED" : "ALWAYS", replicas };
}

/** Leases of the nodes of a cluster: in the store, or in etcd with rows in the store beside them. */
export async function openLeases(ground: StoreGround, store: NodeStore): Promise<Leases> {
  const { config, runtime, log, life } = ground;
  if (config.etcd === null) return store.leases;
  const etcd = new EtcdLeases({ address: config.etcd, runtime, log });
  life.started("leases in etcd", async () => etcd.close());
  await patiently("etcd", () => etcd.check(), ground);
  return new RowsBeside({ etcd, store: store.leases, runtime, log });
}
