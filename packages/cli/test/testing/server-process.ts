import { LongCommand } from "./command.ts";
import { FREE } from "./server.ts";

/** A server in a process of its own, which keeps its addresses when it is started again. */
export class ServerProcess {
  readonly #env: Record<string, string>;
  #command: LongCommand | null = null;
  httpUrl = "";
  grpcAddress = "";

  constructor(env: Record<string, string>) {
    this.#env = { ...FREE, ...env };
  }

  async start(): Promise<void> {
    const addresses =
      this.httpUrl === "" ? {} : { MAINSPRING_HTTP: new URL(this.httpUrl).host, MAINSPRING_GRPC: this.grpcAddress };
    this.#command = new LongCommand(["serve"], { ...this.#env, ...addresses });
    const said = await this.#command.says(/api +(http:\/\/[^/\s]+)[^]*workers +(\d\S+)/);
    [, this.httpUrl = "", this.grpcAddress = ""] = said;
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.#command?.signal(signal);
    await this.#command?.done;
  }
}
