import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { LongCommand } from "../../../packages/cli/test/testing/command.ts";
import { startPostgres } from "../../services/start-postgres.ts";
import { containersOfThree, DOCKER, readCompose, WORKER_POOL } from "./compose.ts";
import type { ContainerSpec } from "./container.ts";
import { type DeployedNode, judge } from "./judge.ts";

describe("three nodes and a worker with the settings of the Compose file", () => {
  it("bring every accepted job to one success, while one node is stopped and another one is killed", async () => {
    await using closing = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), "mainspring-three-"));
    closing.defer(() => rmSync(folder, { recursive: true }));
    copyFileSync(join(DOCKER, "secrets.sh"), join(folder, "secrets.sh"));
    execFileSync("sh", [join(folder, "secrets.sh")]);
    const secretText = (file: string) => readFileSync(join(folder, file), "utf8");
    const postgres = await startPostgres({ version: "system" });
    closing.defer(() => postgres.stop());
    // Each node has an address of its own in the loopback network, so the ports are those of the image.
    const network = `127.${randomInt(64, 128)}.${randomInt(1, 255)}`;
    const specs = containersOfThree(readCompose(), secretText, (number) => `${network}.${number}`);
    const start = (spec: ContainerSpec) =>
      new LongCommand(spec.args ?? ["serve"], environmentOf(spec, specs, postgres.url));
    const nodes = specs.slice(0, 3).map((spec) => new ProcessNode(spec, start));
    closing.defer(async () => void (await Promise.all(nodes.map((node) => node.kill()))));
    await Promise.all(nodes.map((node) => node.start()));
    const worker = start(specs[3] as ContainerSpec);
    closing.defer(async () => {
      worker.signal("SIGKILL");
      await worker.done;
    });
    const { accepted } = await judge(nodes, { apiKey: secretText("./secrets/api-key"), jobs: 15, pool: WORKER_POOL });
    assert.ok(accepted >= 63);
  });
});

/** A node of the Compose file as a process of this machine. */
class ProcessNode implements DeployedNode {
  readonly name: string;
  readonly url: string;
  readonly #spec: ContainerSpec;
  readonly #run: (spec: ContainerSpec) => LongCommand;
  #command: LongCommand | null = null;

  constructor(spec: ContainerSpec, run: (spec: ContainerSpec) => LongCommand) {
    this.name = spec.name;
    this.url = `http://${spec.address}:8080`;
    this.#spec = spec;
    this.#run = run;
  }

  async start(): Promise<void> {
    this.#command = this.#run(this.#spec);
    await this.#command.says(/Mainspring is ready/);
  }

  async stop(): Promise<void> {
    const fromMs = performance.now();
    this.#command?.signal("SIGTERM");
    const end = await this.#command?.done;
    assert.equal(end?.code, 0, end?.stderr);
    assert.ok(performance.now() - fromMs < this.#spec.graceMs);
  }

  async kill(): Promise<void> {
    this.#command?.signal("SIGKILL");
    await this.#command?.done;
  }
}

/** Settings of a container, with secrets in place of their files, and with addresses in place of names. */
function environmentOf(spec: ContainerSpec, specs: readonly ContainerSpec[], storeUrl: string): Record<string, string> {
  const settings = Object.entries(spec.env).map(([name, value]) => {
    const secret = spec.secrets[value];
    if (name === "MAINSPRING_STORE_FILE") return ["MAINSPRING_STORE", storeUrl];
    if (secret !== undefined) return [name.replace(/_FILE$/, ""), secret];
    return [name, specs.reduce((text, other) => text.replaceAll(`${other.name}:`, `${other.address}:`), value)];
  });
  const listens = { MAINSPRING_HTTP: `${spec.address}:8080`, MAINSPRING_GRPC: `${spec.address}:8081` };
  return { ...listens, ...Object.fromEntries(settings) };
}
