import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog, startEmbedded, systemRuntime } from "@mainspring/server/testing";
import type { LongCommand } from "./command.ts";
import { serveOn } from "./server.ts";

export interface ClusterNode {
  command: LongCommand;
  httpUrl: string;
  grpcAddress: string;
}

/** Nodes in processes of their own on one PostgreSQL. */
export class TestCluster {
  readonly storeUrl: string;
  readonly #close: () => Promise<void>;
  readonly #commands: LongCommand[] = [];

  private constructor(storeUrl: string, close: () => Promise<void>) {
    this.storeUrl = storeUrl;
    this.#close = close;
  }

  static async open(): Promise<TestCluster> {
    const folder = await mkdtemp(join(tmpdir(), "mainspring-cluster-"));
    const log = createLog("silent");
    const postgres = await startEmbedded({ dataDir: join(folder, "data"), runtime: systemRuntime(), log });
    const { host, port, user, password = "" } = postgres.connection;
    const query = new URLSearchParams({ host, port: String(port), user, password });
    return new TestCluster(`postgres:///postgres?${query}`, async () => {
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    });
  }

  /** One more node, by default with all roles. */
  async node(env: Record<string, string> = {}): Promise<ClusterNode> {
    const command = serveOn(".", { MAINSPRING_STORE: this.storeUrl, MAINSPRING_BUS: "mesh", ...env });
    this.#commands.push(command);
    const [, httpUrl = "", grpcAddress = ""] = await command.says(/(?:api +(\S+)[^]*)?workers +(\S+)/);
    return { command, httpUrl, grpcAddress };
  }

  async close(): Promise<void> {
    for (const command of this.#commands) if (!command.hasEnded) command.signal("SIGKILL");
    await Promise.all(this.#commands.map(({ done }) => done));
    await this.#close();
  }
}
