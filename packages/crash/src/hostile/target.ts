import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig, type RunningNode, startNode } from "@mainspring/server";

/** A server in this thread, so that its event loop and its memory can be measured. */
export interface Target {
  node: RunningNode;
  port: number;
  stop(): Promise<void>;
}

/** @param settings settings in addition to those of a server with a store of its own on free ports */
export async function startTarget(settings: Record<string, string> = {}): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), "hostile-"));
  const node = await startNode(
    loadConfig({
      MAINSPRING_HTTP: "127.0.0.1:0",
      MAINSPRING_GRPC: "127.0.0.1:0",
      MAINSPRING_DATA_DIR: join(folder, "data"),
      MAINSPRING_LOG_LEVEL: "error",
      ...settings,
    }),
  );
  const stop = async () => {
    await node.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { node, port: Number(new URL(node.httpUrl).port), stop };
}
