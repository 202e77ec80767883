import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "@mainspring/server/testing";
import pg from "pg";
import { postgresBinaries } from "../../services/postgres-binaries.ts";
import { OWN_ADDRESS } from "./lan.ts";

const run = promisify(execFile);
const AS_POSTGRES = ["--reuid=postgres", "--regid=postgres", "--init-groups"];
const NAME = "mainspring";

/** A PostgreSQL in the network of the nodes, with the role and the database `mainspring`. */
interface Store {
  stop(): Promise<void>;
}

/** @param password password of the role, without which nobody connects */
export async function startStore(password: string): Promise<Store> {
  const bin = join(await postgresBinaries("system"), "bin");
  const folder = await mkdtemp("/var/tmp/mainspring-store-");
  const [data, file] = [join(folder, "data"), join(folder, "password")];
  await writeFile(file, password);
  await chmod(folder, 0o755);
  await run("install", ["--directory", "--owner=postgres", "--mode=700", data]);
  const init = ["--pgdata", data, "--username", NAME, "--auth=scram-sha-256", "--pwfile", file];
  await run("setpriv", [...AS_POSTGRES, join(bin, "initdb"), ...init], { cwd: "/" });
  await writeFile(join(data, "pg_hba.conf"), "host all all 10.77.0.0/24 scram-sha-256\n");
  const settings = ["-D", data, "-h", OWN_ADDRESS, "-k", "", "-c", "max_connections=200"];
  // It ends with this process at the latest.
  const child = spawn("setpriv", [...AS_POSTGRES, "--pdeathsig=KILL", join(bin, "postgres"), ...settings], {
    cwd: "/",
    stdio: "ignore",
  });
  const exited = once(child, "exit");
  await until(() => child.exitCode !== null || databaseIsMade(password));
  if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}`);
  return {
    async stop() {
      child.kill("SIGINT");
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Whether PostgreSQL answers and has made the database. */
async function databaseIsMade(password: string): Promise<boolean> {
  const client = new pg.Client({ host: OWN_ADDRESS, user: NAME, password, database: "postgres" });
  try {
    await client.connect();
    await client.query(`CREATE DATABASE ${NAME}`);
    return true;
  } catch {
    return false;
  } finally {
    await client.end();
  }
}
