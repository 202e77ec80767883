import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLog, startEmbedded, systemRuntime } from "@mainspring/server/testing";
import { LongCommand } from "./command.ts";
import { FREE, serveOn } from "./server.ts";

const OLDER_NODE = fileURLToPath(new URL("older-node.ts", import.meta.url));
/** Output of a node with and without the role api. */
const SAYS = /(?:api|health) +(http:\/\/[^/\s]+)[^]*workers +(\d\S+)/;

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

  /** Starts another node, by default with all roles. */
  async node(env: Record<string, string> = {}): Promise<ClusterNode> {
    return this.#ready(this.start(env));
  }

  /** Starts another node of a given feature level. */
  async nodeOf(level: number, env: Record<string, string> = {}): Promise<ClusterNode> {
    return this.#ready(this.startOf(level, env));
  }

  /** Starts a node, which may end before it is ready. */
  start(env: Record<string, string> = {}): LongCommand {
    return this.#started(serveOn(".", { ...this.#env, ...env }));
  }

  startOf(level: number, env: Record<string, string> = {}): LongCommand {
    const all = { ...FREE, ...this.#env, ...env, MAINSPRING_TEST_LEVEL: String(level) };
    return this.#started(new LongCommand([], all, OLDER_NODE));
  }

  get #env(): Record<string, string> {
    return { MAINSPRING_STORE: this.storeUrl, MAINSPRING_BUS: "mesh", MAINSPRING_STOP_DELAY_SEC: "0" };
  }

  #started(command: LongCommand): LongCommand {
    this.#commands.push(command);
    return command;
  }

  async #ready(command: LongCommand): Promise<ClusterNode> {
    const [, httpUrl = "", grpcAddress = ""] = await command.says(SAYS);
    return { command, httpUrl, grpcAddress };
  }

  /** Stops all nodes in an orderly way. */
  async stopNodes(): Promise<void> {
    for (const command of this.#commands) if (!command.hasEnded) command.signal("SIGTERM");
    await Promise.all(this.#commands.splice(0).map(({ done }) => done));
  }

  async close(): Promise<void> {
    for (const command of this.#commands) if (!command.hasEnded) command.signal("SIGKILL");
    await Promise.all(this.#commands.map(({ done }) => done));
    await this.#close();
  }
}
