/** The server, for programs that start one. Everything else is available over HTTP and gRPC. */

export { backfillClickHouse } from "./adapters/clickhouse/backfill.ts";
export { clickHouseStatements, migrateClickHouse } from "./adapters/clickhouse/migrations.ts";
export { systemRuntime } from "./adapters/system/system-runtime.ts";
export { AddressUnusable } from "./addresses.ts";
export { builtInTasks } from "./handlers/built-in-tasks.ts";
export { createKeyInStore } from "./key-in-store.ts";
export { migrateStore, undoMigration } from "./migrate-store.ts";
export { moveStore, moveStoreSchema } from "./move-store.ts";
export { type RunningNode, startNode } from "./node.ts";
export { type Config, ConfigError, describeKeys, givenValues, loadConfig, loadHandlerConfig } from "./ops/config.ts";
export { postgresUrlFault } from "./ops/config-values.ts";
export { CLICKHOUSE_URL, type ClickHouseAddress, clickHouseAddress } from "./ports/clickhouse-address.ts";
export { StoreUnavailable, StoreUnusable } from "./ports/store.ts";
