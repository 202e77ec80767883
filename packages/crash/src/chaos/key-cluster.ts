import { once } from "node:events";
import { chmod, copyFile, mkdir, readFile, rename } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { type ClientHttp2Stream, connect } from "node:http2";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { type Authority, newAuthority } from "../../../../tools/services/certificates.ts";
import { until } from "../clock.ts";
import { type Child, startNode } from "../environment/child.ts";
import { freePort } from "../environment/free-port.ts";
import { ClusterStore } from "../environment/postgres/cluster-store.ts";
import { Proxy } from "../environment/proxy/proxy.ts";
import { COMMAND } from "../environment/server.ts";
import type { RunContext } from "../play.ts";

export const NODES = 3;
export const OPERATOR_KEY = "the-key-of-the-operators-of-chaos";
const READY_WITHIN_MS = 90_000;
const CONNECT = "/mainspring.worker.v1.WorkerService/Connect";

export interface Node {
  name: string;
  httpPort: number;
  grpcPort: number;
  certFile: string;
  keyFile: string;
  child: Child;
}

export interface Answer {
  status: number;
  body: string;
}

/** Three nodes with TLS on one PostgreSQL. */
export class KeyCluster {
  readonly nodes: Node[] = [];
  readonly ca: string;
  readonly #folder: string;
  readonly #authority: Authority;
  readonly #closeStore: () => Promise<void>;
  /** Connections that are kept, as most clients do; the other requests open new ones. */
  readonly #kept: Agent;
  #issued = 0;

  private constructor(folder: string, authority: Authority, ca: string, closeStore: () => Promise<void>) {
    this.#folder = folder;
    this.#authority = authority;
    this.ca = ca;
    this.#closeStore = closeStore;
    this.#kept = new Agent({ keepAlive: true, ca });
  }

  static async open({ folder, say }: RunContext): Promise<KeyCluster> {
    await chmod(folder, 0o711);
    const store = await ClusterStore.open(folder);
    const link = new Proxy(store.target);
    const url = store.urlBy(link, await link.listen());
    const authority = await newAuthority(folder, "ca");
    const cluster = new KeyCluster(folder, authority, await readFile(authority.certFile, "utf8"), async () => {
      await link.close();
      await store.close();
    });
    for (let number = 1; number <= NODES; number++) await cluster.#start(`node-${number}`, url);
    await Promise.all(cluster.nodes.map((node) => cluster.#ready(node)));
    say("every node is ready");
    return cluster;
  }

  async #start(name: string, store: string): Promise<void> {
    const folder = join(this.#folder, name);
    await mkdir(folder);
    const [certFile, keyFile] = [join(folder, "node.crt"), join(folder, "node.key")];
    await this.issue(certFile, keyFile);
    const [httpPort, grpcPort] = [await freePort(), await freePort()];
    const child = startNode([COMMAND, "serve"], {
      logFile: join(this.#folder, `${name}.log`),
      env: {
        ...{ MAINSPRING_STORE: store, MAINSPRING_BUS: "mesh", MAINSPRING_API_KEY: OPERATOR_KEY },
        ...{ MAINSPRING_HTTP: `127.0.0.1:${httpPort}`, MAINSPRING_GRPC: `127.0.0.1:${grpcPort}` },
        ...{ MAINSPRING_TLS_CERT: certFile, MAINSPRING_TLS_KEY: keyFile, MAINSPRING_TLS_CA: this.#authority.certFile },
        ...{ MAINSPRING_CLUSTER_SECRET: "the-secret-of-the-cluster-of-chaos", MAINSPRING_EVENTS: "api" },
      },
    });
    this.nodes.push({ name, httpPort, grpcPort, certFile, keyFile, child });
  }

  /** Writes a certificate as most tools do: each file is whole at once, and both are not. */
  async issue(certFile: string, keyFile: string): Promise<void> {
    const names = ["IP:127.0.0.1", "DNS:localhost", "URI:mainspring://chaos/node"];
    const issued = await this.#authority.issue(`issued-${++this.#issued}`, names);
    for (const [from, to] of [
      [issued.keyFile, keyFile],
      [issued.certFile, certFile],
    ] as const) {
      await copyFile(from, `${to}.new`);
      await rename(`${to}.new`, to);
    }
  }

  async #ready(node: Node): Promise<void> {
    await until(`${node.name} is ready`, READY_WITHIN_MS, async () => {
      if (node.child.endedBy() !== null) throw new Error(`${node.name} ended by itself: ${node.child.endedBy()}`);
      const answer = await this.ask(node, OPERATOR_KEY, "/v1/me").catch(() => null);
      return answer?.status === 200 ? true : null;
    });
  }

  /** @param isNew whether the request opens a connection of its own */
  async ask(node: Node, key: string, path: string, body?: object | "DELETE", isNew = true): Promise<Answer> {
    const answer = await this.open(node, key, path, body, isNew);
    return { status: answer.statusCode ?? 0, body: await text(answer) };
  }

  async open(node: Node, key: string, path: string, body?: object | "DELETE", isNew = true): Promise<IncomingMessage> {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const to = { host: "127.0.0.1", port: node.httpPort, path, ca: this.ca, servername: "localhost" };
    const method = body === undefined ? "GET" : body === "DELETE" ? body : "POST";
    const asked = request({ ...to, method, headers, agent: isNew ? false : this.#kept });
    // The promises below have the same error.
    asked.on("error", () => undefined);
    asked.end(typeof body === "object" ? JSON.stringify(body) : undefined);
    const [answer] = await once(asked, "response");
    return answer as IncomingMessage;
  }

  /** Opens the stream of a worker that says nothing. @returns its gRPC status, once it has ended */
  async worker(node: Node, key: string): Promise<string> {
    const session = connect(`https://127.0.0.1:${node.grpcPort}`, { ca: this.ca, servername: "localhost" });
    session.on("error", () => undefined);
    const headers = { ":method": "POST", ":path": CONNECT, "content-type": "application/grpc", te: "trailers" };
    const stream: ClientHttp2Stream = session.request({ ...headers, authorization: `Bearer ${key}` });
    stream.on("error", () => undefined);
    let status = "";
    for (const event of ["response", "trailers"] as const)
      stream.on(event, (fields: Record<string, unknown>) => (status = String(fields["grpc-status"] ?? status)));
    stream.resume();
    // The stream closes only when this end does so, too.
    await new Promise((resolve) => {
      for (const event of ["end", "close"]) stream.once(event, resolve);
    });
    session.destroy();
    return status;
  }

  /** Certificate that a node shows to new connections. */
  async shown({ httpPort }: Node): Promise<string> {
    const socket = connectTls({ port: httpPort, host: "127.0.0.1", ca: this.ca, servername: "localhost" });
    await once(socket, "secureConnect");
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  }

  async close(): Promise<void> {
    this.#kept.destroy();
    for (const { child } of this.nodes) child.signal("SIGKILL");
    await Promise.all(this.nodes.map(({ child }) => child.ended));
    await this.#closeStore();
  }
}
