import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { get, request } from "node:https";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, afterEach, before, describe, it } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { status } from "@grpc/grpc-js";
import { task, Worker } from "@mainspring/sdk";
import { newAuthority } from "../../../tools/services/certificates.ts";
import { RawStream } from "./adapters/mesh/raw-stream.fixture.ts";
import { startTestServer, storeUrl, type TestServer } from "./adapters/sql/testing/databases.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";
import { loadConfig } from "./ops/config.ts";
import { checkPlainAddresses, plainAddresses } from "./tls.ts";

const KEY = "the-api-key-of-all-clients";

interface Cluster {
  nodes: { nodeId: string; address: string; state: string; unreached: string[] | null }[];
}

describe("a cluster that is given TLS, node by node", () => {
  let server: TestServer;
  let store: string;
  let folder: string;
  let ca: string;
  const nodes: RunningNode[] = [];
  const at = (file: string) => join(folder, file);
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-tls-"));
    const authority = await newAuthority(folder, "ca");
    // The name alone admits a node: its address is in no certificate.
    for (const name of ["node", "newer"]) await authority.issue(name, ["DNS:localhost", "URI:mainspring://test/node"]);
    ca = await readFile(at("ca.crt"), "utf8");
    server = await startTestServer();
  });
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((node) => node.stop()));
  });
  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  const trusting = () => ({ MAINSPRING_TLS_CA: at("ca.crt") });
  const certified = () => ({
    ...trusting(),
    MAINSPRING_TLS_CERT: at("node.crt"),
    MAINSPRING_TLS_KEY: at("node.key"),
  });
  const start = async (env: Record<string, string>) => {
    const common = { MAINSPRING_STORE: store, MAINSPRING_BUS: "mesh", MAINSPRING_API_KEY: KEY };
    const node = await startLocalNode({ ...common, MAINSPRING_STOP_DELAY_SEC: "0", ...env });
    nodes.push(node);
    return node;
  };
  const ask = async <T>(node: RunningNode, path: string, body?: object): Promise<T> => {
    const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
    const url = new URL(path, node.httpUrl);
    if (url.protocol === "http:") {
      const options = { headers, ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }) };
      return (await (await fetch(url, options)).json()) as T;
    }
    const options = { ca, servername: "localhost", headers, method: body === undefined ? "GET" : "POST" };
    const asked = request(url, options).end(body && JSON.stringify(body));
    const [answer] = await once(asked, "response");
    return JSON.parse(await text(answer)) as T;
  };
  const clusterOf = async (node: RunningNode) => (await ask<Cluster>(node, "/v1/cluster")).nodes;
  /** Waits until each node reaches all others. */
  const meet = async (count: number) => {
    for (const node of nodes) {
      const isWhole = (found: Cluster["nodes"]) =>
        found.filter(({ state, unreached }) => state === "LIVING" && unreached?.length === 0).length === count;
      await until(async () => isWhole(await clusterOf(node)));
    }
  };
  /** Runs jobs of all shards, so that assignments and results cross between the nodes. */
  const runs = async (node: RunningNode) => {
    for (let job = 0; job < 10; job++) {
      const { executionId } = await ask<{ executionId: string }>(node, "/v1/jobs", { target: { handler: "echo" } });
      const { state } = await ask<{ state: string }>(node, `/v1/executions/${executionId}?waitSec=30`);
      assert.equal(state, "SUCCEEDED");
    }
  };
  /** Opens a stream as another node, with the API key and no certificate. @returns how it ends; null: it is accepted */
  const forge = async (to: RunningNode): Promise<string | null> => {
    const listed = await clusterOf(to);
    const own = listed.find(({ address }) => address === `https://${to.grpcAddress}`);
    const other = listed.find(({ address }) => address !== `https://${to.grpcAddress}`);
    const stream = new RawStream(to.grpcAddress.replace("127.0.0.1", "localhost"), KEY, ca);
    stream.hello(other?.nodeId ?? "", own?.nodeId ?? "");
    const welcome = stream.reply().then(() => null);
    const end = await Promise.race([welcome, stream.status.then(({ code, details }) => `${status[code]}: ${details}`)]);
    stream.close();
    return end;
  };

  it("serves all the time, and in the end refuses nodes without certificates", async () => {
    store = storeUrl(await server.newDatabase());
    const first = await start(trusting());
    const second = await start(certified());
    await meet(2);
    await runs(first);
    await runs(second);
    assert.equal(await forge(second), null);
    await first.stop();
    nodes.splice(nodes.indexOf(first), 1);
    const third = await start(certified());
    await until(async () => (await clusterOf(third)).filter(({ state }) => state === "LIVING").length === 2);
    await meet(2);
    await runs(third);
    assert.match((await forge(second)) ?? "", /^UNAUTHENTICATED: every node of this cluster has a certificate/);
    await assert.rejects(start({}), /^ConfigError: MAINSPRING_TLS_CERT must be set: every other node of this cluster/);
  });

  it("serves clients and workers over TLS alone, and the newest certificate without a restart", async () => {
    store = storeUrl(await server.newDatabase());
    for (const kind of ["crt", "key"]) await copyFile(at(`node.${kind}`), at(`own.${kind}`));
    const node = await start({
      ...trusting(),
      MAINSPRING_BUILTIN_WORKER: "off",
      MAINSPRING_TLS_CERT: at("own.crt"),
      MAINSPRING_TLS_KEY: at("own.key"),
    });
    assert.match(node.httpUrl, /^https:/);
    const url = node.grpcAddress.replace("127.0.0.1", "https://localhost");
    const echo = task({ name: "echo", run: async () => "done" });
    const worker = new Worker({ url, ca, apiKey: KEY, tasks: [echo], warn: () => undefined });
    await worker.start();
    await runs(node);
    await worker.stop();

    const ports = [node.httpUrl, `http://${node.grpcAddress}`].map((address) => Number(new URL(address).port));
    for (const port of ports) {
      const plain = connectPlain(port, "127.0.0.1").end("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
      assert.doesNotMatch(await text(plain), /HTTP/);
    }
    await assert.rejects(once(get(node.httpUrl, { ca: "", servername: "localhost" }), "response"), /certificate/);

    const shown = async (port: number) => {
      const socket: TLSSocket = connect({
        port,
        host: "127.0.0.1",
        servername: "localhost",
        ca,
        ALPNProtocols: ["h2", "http/1.1"],
      });
      await once(socket, "secureConnect");
      const { fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      return fingerprint256;
    };
    const before = await Promise.all(ports.map(shown));
    for (const kind of ["crt", "key"]) await copyFile(at(`newer.${kind}`), at(`own.${kind}`));
    // The program does so on SIGHUP. Without it, the node looks every 10 s.
    for (const node of nodes) await node.lookAtCertificates();
    const now = await Promise.all(ports.map(shown));
    assert.equal(now[0], now[1]);
    for (const [index, fingerprint] of now.entries()) assert.notEqual(fingerprint, before[index]);
  });
});

describe("settings of certificates", () => {
  const faultOf = (env: Record<string, string>): string => {
    try {
      return loadConfig(env).tls.cert ?? "";
    } catch (error) {
      return (error as Error).message;
    }
  };

  it("name a certificate and its key together, and none beside a proxy", () => {
    assert.equal(
      faultOf({ MAINSPRING_TLS_CERT: "node.pem", MAINSPRING_MESH_KEY: "mesh.key" }),
      "MAINSPRING_TLS_KEY must be set where MAINSPRING_TLS_CERT is\nMAINSPRING_MESH_CERT must be set where MAINSPRING_MESH_KEY is",
    );
    const pair = { MAINSPRING_TLS_CERT: "node.pem", MAINSPRING_TLS_KEY: "node.key" };
    assert.equal(
      faultOf({ ...pair, MAINSPRING_TLS: "proxy" }),
      "MAINSPRING_TLS must be files where MAINSPRING_TLS_CERT is set",
    );
    assert.equal(faultOf(pair), "node.pem");
  });
});

describe("addresses beyond this machine without TLS", () => {
  const configOf = (env: Record<string, string>) => loadConfig({ MAINSPRING_API_KEY: KEY, ...env });
  const OPEN = { MAINSPRING_HTTP: "10.0.0.5:8080", MAINSPRING_GRPC: "10.0.0.5:8081" };

  it("are faults that say what to set", () => {
    const faultsOf = (env: Record<string, string>) =>
      plainAddresses(configOf(env)).map((fault) => fault.replace(/ (must be|while) .*/, ""));
    assert.deepEqual(faultsOf({}), []);
    assert.deepEqual(faultsOf(OPEN), ["MAINSPRING_HTTP and MAINSPRING_GRPC"]);
    assert.deepEqual(faultsOf({ ...OPEN, MAINSPRING_TLS: "proxy" }), []);
    const mesh = { MAINSPRING_BUS: "mesh", MAINSPRING_STORE: "postgres://u@h/d" };
    assert.deepEqual(faultsOf({ ...OPEN, ...mesh, MAINSPRING_TLS: "proxy" }), ["MAINSPRING_MESH_PLAINTEXT"]);
    assert.deepEqual(faultsOf({ ...OPEN, ...mesh, MAINSPRING_TLS: "proxy", MAINSPRING_MESH_PLAINTEXT: "on" }), []);
    const files = { MAINSPRING_TLS_CERT: "a.pem", MAINSPRING_TLS_KEY: "a.key" };
    assert.deepEqual(faultsOf({ ...OPEN, ...mesh, ...files }), []);
  });

  it("end the start of a new installation, and are warnings in one of an earlier release", () => {
    const warnings: string[] = [];
    const log = { warn: (line: string) => void warnings.push(line) };
    assert.throws(() => checkPlainAddresses(configOf(OPEN), true, log as never), /^ConfigError: MAINSPRING_HTTP and/);
    assert.doesNotThrow(() => checkPlainAddresses(configOf(OPEN), false, log as never));
    assert.match(warnings.join("\n"), /^MAINSPRING_HTTP and .* A later release refuses to start$/);
  });
});
