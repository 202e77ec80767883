import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "../clock.ts";
import { type Child, startNode } from "./child.ts";

/** File of this release's command. */
export const COMMAND = fileURLToPath(new URL("../../../cli/bin/mainspring.mjs", import.meta.url));
/**
 * Time limit of a start, in milliseconds. Replaying the store's log on a busy machine takes long; a longer start hangs.
 */
const READY_WITHIN_MS = 180_000;
const STOP_WITHIN_MS = 120_000;

export interface ServerOptions {
  folder: string;
  /** Name of its log in the folder; default: server. */
  name?: string;
  httpPort: number;
  grpcPort: number;
  env: Record<string, string>;
  /** File of the command to start; default: this release's. */
  command?: string;
}

/** A server as users run it, without its built-in worker; always at the same addresses. */
export class Server {
  readonly httpUrl: string;
  readonly grpcAddress: string;
  readonly #options: ServerOptions;
  #command: string;
  #child: Child | null = null;
  readonly #deaths: string[] = [];

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#command = options.command ?? COMMAND;
    this.httpUrl = `http://127.0.0.1:${options.httpPort}`;
    this.grpcAddress = `127.0.0.1:${options.grpcPort}`;
  }

  /** File to which all processes of the server append their log. */
  get logFile(): string {
    const { folder, name = "server" } = this.#options;
    return join(folder, `${name}.log`);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Exit codes and signals of processes that ended without a request or not in an orderly way. */
  get deaths(): readonly string[] {
    return this.#deaths;
  }

  /** Uses this release from the next start on. */
  upgrade(): void {
    this.#command = COMMAND;
  }

  start(): void {
    const { folder, name = "server", httpPort, grpcPort, env } = this.#options;
    const child = startNode([this.#command, "serve"], {
      logFile: this.logFile,
      env: {
        MAINSPRING_HTTP: `127.0.0.1:${httpPort}`,
        MAINSPRING_GRPC: `127.0.0.1:${grpcPort}`,
        MAINSPRING_DATA_DIR: join(folder, "data"),
        MAINSPRING_BUILTIN_WORKER: "off",
        ...env,
      },
    });
    this.#child = child;
    void child.ended.then((why) => {
      if (this.#child === child) this.#deaths.push(`the ${name}, process ${child.pid}, ended by itself with ${why}`);
    });
  }

  /** @returns promise that resolves when the server answers requests */
  async ready(): Promise<void> {
    await until("the server is ready", READY_WITHIN_MS, async () => {
      const death = this.#child?.endedBy();
      if (death != null) throw new Error(`the server ended by itself: ${death}`);
      return (await this.#answers("/readyz")) && (await this.#answers("/v1/executions?limit=1")) ? true : null;
    });
  }

  /** Kills the server. @returns promise that resolves when it has ended */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    child?.signal("SIGKILL");
    await child?.ended;
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.signal(name);
  }

  /**
   * Stops the server with SIGTERM. @returns promise that resolves when it has ended; `deaths` shows whether it ended in
   * an orderly way
   */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#child = null;
    child.signal("SIGTERM");
    const end = await until("the server has stopped", STOP_WITHIN_MS, () => child.endedBy());
    if (end !== "code 0") this.#deaths.push(`the server, process ${child.pid}, left with ${end}`);
  }

  async #answers(path: string): Promise<boolean> {
    try {
      const { MAINSPRING_API_KEY: key } = { ...process.env, ...this.#options.env };
      const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
      const response = await fetch(this.httpUrl + path, { headers, signal: AbortSignal.timeout(2_000) });
      await response.arrayBuffer();
      return response.ok;
    } catch {
      return false;
    }
  }
}
