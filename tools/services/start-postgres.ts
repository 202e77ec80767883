import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedPostgres, startEmbedded, systemRuntime } from "../../packages/server/src/testing.ts";
import { type PostgresVersion, postgresBinaries } from "./postgres-binaries.ts";

/** A PostgreSQL for tests, on a new and empty data folder. */
export interface TestPostgres {
  /** URL in the form of MAINSPRING_STORE. */
  readonly url: string;
  readonly connection: EmbeddedPostgres["connection"];
  /** Kills PostgreSQL as a power cut would. It restarts at once at the same address, with all committed data. */
  kill(): void;
  /** Stops PostgreSQL and removes its data. Repeated calls do nothing. */
  stop(): Promise<void>;
}

/** Servers that run now, so that none stays behind when the process exits without stopping it. */
const running = new Map<EmbeddedPostgres, string>();

/** Starts a PostgreSQL of a version, supervised like the embedded one. It ends with this process at the latest. */
export async function startPostgres({ version }: { version: PostgresVersion }): Promise<TestPostgres> {
  const binaries = await postgresBinaries(version);
  const folder = await mkdtemp(join(tmpdir(), `postgres-${version}-`));
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const postgres = await startEmbedded({ dataDir: join(folder, "data"), binaries, runtime: systemRuntime(), log });
  if (running.size === 0) process.once("exit", endAll);
  running.set(postgres, folder);
  return {
    url: urlOf(postgres.connection),
    connection: postgres.connection,
    kill: () => process.kill(postgres.pid, "SIGKILL"),
    async stop() {
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
      running.delete(postgres);
      if (running.size === 0) process.removeListener("exit", endAll);
    },
  };
}

function endAll(): void {
  for (const [postgres, folder] of running) {
    process.kill(postgres.pid, "SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function urlOf({ host, port, user, database }: EmbeddedPostgres["connection"]): string {
  return `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
}
