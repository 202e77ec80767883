import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Child } from "../demo/child.ts";

const MAINSPRING = fileURLToPath(new URL("../../packages/cli/bin/mainspring.mjs", import.meta.url));

/** The handler `http` may call servers on this machine, as the demo's jobs do. */
const ALLOWED = { MAINSPRING_HTTP_ALLOW_PRIVATE: "127.0.0.0/8" };

/** Nodes and a worker that run. */
export interface RunningCluster {
  /** Addresses of each node. */
  nodes: readonly { httpUrl: string; grpcAddress: string }[];
  /** Resolves with a sentence when one of the processes ends by itself. */
  readonly broken: Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts nodes, and a worker for the pool `default`.
 * @throws {Error} a process did not start; none is left running
 */
export async function startCluster(
  settings: Readonly<Record<string, string>>,
  { folder, count }: { folder: string; count: number },
): Promise<RunningCluster> {
  const children: { title: string; child: Child }[] = [];
  const start = (title: string, args: string[], env: Record<string, string>) => {
    const child = new Child([MAINSPRING, ...args], env);
    children.push({ title, child });
    return child;
  };
  const stop = async () => {
    // The worker stops first, because without a node it would only try to connect.
    await children.at(count)?.child.stop();
    await Promise.all(children.map(({ child }) => child.stop()));
  };
  const node = async (number: number) => {
    const child = start(`node ${number}`, ["serve"], { ...nodeSettings(join(folder, `node-${number}`)), ...settings });
    const [, httpUrl = "", grpcAddress = ""] = await child.says(/api +(http:\S+)[^]*workers +(\d\S+)[^]*curl/);
    return { httpUrl, grpcAddress };
  };
  try {
    const nodes = await Promise.all(Array.from({ length: count }, (_, index) => node(index + 1)));
    const url = nodes.map(({ grpcAddress }) => grpcAddress).join(",");
    await start("the worker", ["worker"], { MAINSPRING_GRPC_URL: url, ...ALLOWED }).says(/connected to/);
    const ends = children.map(({ title, child }) => child.ended.then(() => `${title} has ended by itself`));
    return { nodes, broken: Promise.race(ends), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function nodeSettings(dataDir: string): Record<string, string> {
  return {
    MAINSPRING_HTTP: "127.0.0.1:0",
    MAINSPRING_GRPC: "127.0.0.1:0",
    MAINSPRING_DATA_DIR: dataDir,
    MAINSPRING_LOG_LEVEL: "warn",
    MAINSPRING_STOP_DELAY_SEC: "0",
    ...ALLOWED,
  };
}
