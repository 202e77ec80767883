import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Worker } from "@mainspring/sdk";
import type { InnerWorkerOptions } from "./builtin-worker.ts";
import { type Program, type RunningNode, startNode } from "./node.ts";
import { loadConfig } from "./ops/config.ts";

/** Environment variables of a node. */
type Settings = Readonly<Record<string, string>>;

/** A whole node with the embedded store: HTTP, gRPC, and data in a folder of its own. */
export interface TestNode extends RunningNode {
  readonly dataDir: string;
  /** Sends no API key. */
  readonly client: Client;
  /** Stops the node, and starts another one on its data, on other ports and with these settings alone. */
  restart(settings?: Settings): Promise<TestNode>;
  /** Stops the node and removes its data. */
  stop(): Promise<void>;
}

/** Starts a node on an empty store. */
export async function startTestNode(settings: Settings = {}): Promise<TestNode> {
  const dataDir = await mkdtemp(join(tmpdir(), "mainspring-node-"));
  try {
    return await serve(dataDir, settings);
  } catch (error) {
    await rm(dataDir, { recursive: true });
    throw error;
  }
}

/**
 * Starts a node on free ports of loopback that logs nothing below `fatal`; `settings` come before that.
 * @param program version and feature level that it announces; left out: those of this program
 */
export function startLocalNode(settings: Settings, program?: Program): Promise<RunningNode> {
  const local = { MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_LOG_LEVEL: "fatal" };
  return startNode(loadConfig({ ...local, ...settings }), program);
}

async function serve(dataDir: string, settings: Settings): Promise<TestNode> {
  const node = await startLocalNode({ MAINSPRING_DATA_DIR: dataDir, ...settings });
  return {
    ...node,
    dataDir,
    client: new Client({ url: node.httpUrl }),
    restart: async (next = {}) => {
      await node.stop();
      return serve(dataDir, next);
    },
    stop: async () => {
      await node.stop();
      await rm(dataDir, { recursive: true });
    },
  };
}

/** Makes a worker for each place where a worker of a node can run. */
export const WORKERS = {
  "over gRPC": ({ grpcAddress }: RunningNode, options: InnerWorkerOptions) =>
    new Worker({ url: grpcAddress, warn: () => undefined, ...options }),
  "inside the server": (node: RunningNode, options: InnerWorkerOptions) => node.attachWorker(options),
};
