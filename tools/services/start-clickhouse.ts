import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pythonWith } from "./python-packages.ts";
import { restartable, startPythonServer, type TestChild } from "./python-server.ts";

const FOLDER = join(import.meta.dirname, "clickhouse");

/** The engine of ClickHouse for tests, on a new and empty data folder, behind a part of its HTTP interface. */
export interface TestClickHouse {
  /** URL without a database. */
  readonly url: string;
  /** Process of the engine. A killed one starts again with its data. */
  readonly child: TestChild;
  /** Kills the engine as a power cut would. */
  kill(): Promise<void>;
  /** Starts a killed engine again, at the same address and with its data. */
  restart(): Promise<void>;
  /** Stops the engine and removes its data. */
  stop(): Promise<void>;
}

export interface ClickHouseOptions {
  /** Version that the engine claims to have. Default: its own. */
  version?: string;
  /** Regular expression of statements that are refused as for a user without the right. Default: none. */
  deny?: string;
  /** User and password that the engine asks for. Default: the user `default` without a password. */
  user?: { name: string; password: string };
}

/** Starts the engine. It ends with this process at the latest. */
export async function startClickHouse({ version, deny, user }: ClickHouseOptions = {}): Promise<TestClickHouse> {
  const constraints = join(FOLDER, "constraints.txt");
  const python = await pythonWith({ name: "chdb-core", constraints, isAlone: true });
  const folder = await mkdtemp(join(tmpdir(), "clickhouse-"));
  const environment = {
    ...(version !== undefined && { SHIM_VERSION: version }),
    ...(deny !== undefined && { SHIM_DENY: deny }),
    ...(user !== undefined && { SHIM_USER: user.name, SHIM_PASSWORD: user.password }),
  };
  const start = (port: number) =>
    startPythonServer(python, join(FOLDER, "server.py"), [join(folder, "data")], {
      ...environment,
      SHIM_PORT: String(port),
    });
  const child = await restartable(start);
  return {
    url: `http://127.0.0.1:${child.port}`,
    child,
    kill: child.kill,
    restart: child.restart,
    async stop() {
      await child.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
