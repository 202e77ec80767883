import type { PostgresVersion } from "./services/postgres-binaries.ts";
import { startClickHouse } from "./services/start-clickhouse.ts";
import { startPostgres } from "./services/start-postgres.ts";
import { startRedis } from "./services/start-redis.ts";

/**
 * Runs a service for experiments: `services.ts postgres 14|15|16|17|system`, `services.ts redis`, or `services.ts clickhouse`, which is
 * its engine behind a part of its HTTP interface. Ctrl-C stops it and removes its data.
 */

const VERSIONS: Record<string, PostgresVersion> = { 14: 14, 15: 15, 16: 16, 17: 17, system: "system" };
const [service, name = ""] = process.argv.slice(2);

function start(): Promise<{ url: string; stop(): Promise<void> }> {
  const version = VERSIONS[name];
  if (service === "clickhouse") return startClickHouse();
  if (service === "redis") return startRedis();
  if (service === "postgres" && version !== undefined) return startPostgres({ version });
  console.error(`services: say what to run: postgres ${Object.keys(VERSIONS).join("|")}, redis, or clickhouse`);
  process.exit(2);
}

const { url, stop } = await start();
console.log(url);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void stop());
