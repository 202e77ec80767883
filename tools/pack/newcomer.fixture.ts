import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { EmptyProject } from "./empty-project.ts";
import type { GuidePage } from "./guide-page.fixture.ts";

/** A person who follows the guide "Use it in your project" in an empty folder, in two terminals. */
export class Newcomer {
  readonly project: EmptyProject;
  readonly #environment: Record<string, string>;
  /** Addresses of the server that was started; null: none was. */
  clientEnv: Record<string, string> | null = null;
  #server: ChildProcess | null = null;

  /** @param environment what the commands get beside the environment of the test */
  constructor(project: EmptyProject, environment: Record<string, string>) {
    this.project = project;
    this.#environment = environment;
  }

  /** Does what the page says, up to the finished job. @returns what that printed, and how long it took in all */
  async follow({ install, serve, file, run }: GuidePage): Promise<{ printed: string; seconds: number }> {
    const begunMs = performance.now();
    await this.#type(install);
    await this.#serve(serve);
    await this.project.write(file.name, file.text);
    const printed = await this.#type(run);
    return { printed, seconds: (performance.now() - begunMs) / 1_000 };
  }

  /** Ends the server, which the person leaves running. */
  async leave(): Promise<void> {
    const server = this.#server;
    if (server?.pid === undefined || server.exitCode !== null) return;
    process.kill(-server.pid, "SIGTERM");
    await once(server, "exit");
  }

  async #type(command: string): Promise<string> {
    const env = { ...this.#environment, ...this.clientEnv, npm_config_loglevel: "error" };
    const { code, stdout, stderr } = await this.project.run("bash", ["-euc", command], env);
    assert.equal(code, 0, `${command}${stdout}${stderr}`);
    return stdout;
  }

  /** The page names no addresses, so the server would listen where another one may. */
  async #serve(command: string): Promise<void> {
    const free = { MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0" };
    const server = this.project.start("bash", ["-euc", command], { ...this.#environment, ...free });
    this.#server = server;
    const [, url = "", grpc = ""] = await said(server, /api +(http:\S+)[^]*workers +(\d\S+)[^]*curl/);
    this.clientEnv = { MAINSPRING_URL: url, MAINSPRING_GRPC_URL: grpc };
  }
}

/** @throws where the program ends before it says that */
function said(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  let text = "";
  return new Promise((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      text += chunk.toString();
      const match = pattern.exec(text);
      if (match !== null) resolve(match);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`ended with ${code}, without ${pattern}: ${text}`)));
  });
}
