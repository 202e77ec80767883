import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LongCommand } from "./command.ts";
import { NODES_BESIDE, profileSettings } from "./profile.ts";

export interface TestServer {
  httpUrl: string;
  grpcAddress: string;
  dataDir: string;
  command: LongCommand;
  /** Environment variables with the addresses for clients and workers. */
  clientEnv: Record<string, string>;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/** Output of a server that serves. */
const SAYS = /api +(http:\S+)[^]*workers +(\d\S+)[^]*curl/;

/**
 * Runs `mainspring serve` on free ports and a data folder of its own, or with MAINSPRING_TEST_PROFILE as a node of a cluster of its own on
 * the servers of a profile. Other nodes then run beside it, which own a part of its jobs.
 */
export async function startServer(env: Record<string, string> = {}): Promise<TestServer> {
  const dataDir = await mkdtemp(join(tmpdir(), "mainspring-cli-"));
  const command = serveOn(dataDir, env);
  const beside: LongCommand[] = [];
  const end = async () => {
    for (const node of beside) node.signal("SIGTERM");
    await Promise.all(beside.map(({ done }) => done));
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const [, httpUrl = "", grpcAddress = ""] = await command.says(SAYS);
    const { MAINSPRING_HTTP: _http, MAINSPRING_GRPC: _grpc, ...others } = env;
    for (let n = 0; n < NODES_BESIDE; n++) beside.push(serveOn(dataDir, others));
    await Promise.all(beside.map((node) => node.says(SAYS)));
    const clientEnv = { MAINSPRING_URL: httpUrl, MAINSPRING_GRPC_URL: grpcAddress };
    const stop = async () => {
      command.signal("SIGTERM");
      await command.done;
      await end();
    };
    return { httpUrl, grpcAddress, dataDir, command, clientEnv, stop };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Settings for free ports. */
export const FREE = {
  MAINSPRING_HTTP: "127.0.0.1:0",
  MAINSPRING_GRPC: "127.0.0.1:0",
  MAINSPRING_LOG_LEVEL: "warn",
};

export function serveOn(dataDir: string, env: Record<string, string> = {}): LongCommand {
  return new LongCommand(["serve"], { ...FREE, MAINSPRING_DATA_DIR: dataDir, ...profileSettings(dataDir, env) });
}
