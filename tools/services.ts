import type { PostgresVersion } from "./services/postgres-binaries.ts";
import { startPostgres } from "./services/start-postgres.ts";

/**
 * Runs a PostgreSQL for experiments: `services.ts postgres 14|15|16|17|system`; Ctrl-C stops it and removes its data.
 */

const VERSIONS: Record<string, PostgresVersion> = { 14: 14, 15: 15, 16: 16, 17: 17, system: "system" };
const [service, name = ""] = process.argv.slice(2);
const version = VERSIONS[name];
if (service !== "postgres" || version === undefined) {
  console.error(`services: say what to run: postgres ${Object.keys(VERSIONS).join("|")}`);
  process.exit(2);
}

const { url, stop } = await startPostgres({ version });
console.log(url);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void stop());
