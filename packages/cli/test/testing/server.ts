import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LongCommand } from "./command.ts";

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

/** Runs `mainspring serve` on free ports and a data folder of its own. */
export async function startServer(env: Record<string, string> = {}): Promise<TestServer> {
  const dataDir = await mkdtemp(join(tmpdir(), "mainspring-cli-"));
  const command = serveOn(dataDir, env);
  const remove = () => rm(dataDir, { recursive: true, force: true });
  try {
    const [, httpUrl = "", grpcAddress = ""] = await command.says(/api +(http:\S+)[^]*workers +(\d\S+)[^]*curl/);
    const clientEnv = { MAINSPRING_URL: httpUrl, MAINSPRING_GRPC_URL: grpcAddress };
    const stop = async () => {
      command.signal("SIGTERM");
      await command.done;
      await remove();
    };
    return { httpUrl, grpcAddress, dataDir, command, clientEnv, stop };
  } catch (error) {
    await remove();
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
  return new LongCommand(["serve"], { ...FREE, MAINSPRING_DATA_DIR: dataDir, ...env });
}
