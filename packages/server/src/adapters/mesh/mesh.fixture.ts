import type { Socket } from "node:net";
import type { Logger } from "pino";
import { FEATURE_LEVEL } from "../../domain/cluster/feature-level.ts";
import { type GrpcServer, startGrpcServer } from "../../gateway/connections/grpc-server.ts";
import { createLog } from "../../ops/logging.ts";
import type { Envelope, Role } from "../../ports/bus.ts";
import type { CertificateSource } from "../../ports/certificates.ts";
import type { NodeProfile } from "../../ports/leases.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { settingsCheck } from "../../security/settings-keys.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { MeshBus } from "./mesh-bus.ts";
import type { MeshServer } from "./mesh-service.ts";
import { announced, MeshTls } from "./mesh-tls.ts";
import { Wire } from "./wire.fixture.ts";

export const KEY = "a-key-of-the-cluster";
/** Options of a node that differs from the others. */
export interface Making {
  apiKey?: string;
  level?: number;
  /** Secrets of the cluster; default: none. */
  secrets?: readonly string[];
  leaseWithinMs?: number;
  /** Settings that must be the same on all nodes; default: none. */
  alike?: Readonly<Record<string, string>>;
  /** Certificate of the node, and the authorities of others; left out: it speaks without TLS. */
  certificates?: CertificateSource;
  /** Called with the connection of each stream of another node. */
  served?: (socket: Socket | undefined) => void;
  /** Runtime of the node; default: the system's. */
  runtime?: Runtime;
  log?: Logger;
}

const log = createLog("silent");
const runtime = systemRuntime();

/** Nodes with real servers in one process, each reached through a proxy that a test can cut. */
export class Cluster {
  #nodes: TestNode[] = [];
  #buses: MeshBus[] = [];

  /** A bus that knows no other node. */
  bus(
    node: string,
    { apiKey = KEY, level = FEATURE_LEVEL, secrets = [], certificates, ...rest }: Making = {},
  ): MeshBus {
    const bus = new MeshBus({
      tls: new MeshTls(certificates ?? null),
      node,
      level,
      apiKey,
      secrets,
      isAuthorized: settingsCheck({ apiKey }),
      runtime,
      log,
      ...rest,
    });
    this.#buses.push(bus);
    return bus;
  }

  /** Starts nodes and waits until they have found each other. */
  async start<const Names extends string[]>(...names: Names): Promise<{ [At in keyof Names]: TestNode }> {
    const nodes: TestNode[] = [];
    for (const name of names) nodes.push(await this.startAs(name, {}));
    this.meet();
    return nodes as { [At in keyof Names]: TestNode };
  }

  /** Starts a node with another key, level or secrets. */
  startAs(name: string, making: Making): Promise<TestNode> {
    return this.#open(name, 0, making);
  }

  startAt(address: string, name: string): Promise<TestNode> {
    return this.#open(name, Number(address.split(":")[1]), {});
  }

  /** Tells every node which nodes live. */
  meet(): void {
    const living = this.#nodes.filter(({ isAlive }) => isAlive);
    for (const { bus } of living) bus.meet(living.map(({ profile }) => profile));
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await this.turn();
  }

  turn(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  async close(): Promise<void> {
    for (const bus of this.#buses) bus.close();
    await Promise.all(this.#nodes.map((node) => node.close()));
    [this.#nodes, this.#buses] = [[], []];
  }

  async #open(name: string, port: number, making: Making): Promise<TestNode> {
    const bus = this.bus(name, making);
    const serve: MeshServer["serve"] = (call, socket) => {
      making.served?.(socket);
      bus.service.serve(call, socket);
    };
    const server = await startGrpcServer({
      ...{ workers: null, services: [{ ...bus.service, serve }], host: "127.0.0.1", port: 0, runtime, log },
      isAuthorized: settingsCheck({ apiKey: making.apiKey ?? KEY }),
      certificates: making.certificates ?? null,
    });
    const wire = new Wire(server.port);
    const address = announced(await wire.listen(port), making.certificates !== undefined);
    const node = new TestNode(bus, server, wire, address, (making.secrets ?? []).length > 0);
    this.#nodes.push(node);
    return node;
  }
}

export class TestNode {
  readonly bus: MeshBus;
  readonly address: string;
  readonly wire: Wire;
  readonly #server: GrpcServer;
  isAlive = true;

  /** Whether the node's lease claims a cluster secret. */
  claimsSecret: boolean;

  constructor(bus: MeshBus, server: GrpcServer, wire: Wire, address: string, hasSecret: boolean) {
    this.bus = bus;
    this.wire = wire;
    this.address = address;
    this.claimsSecret = hasSecret;
    this.#server = server;
  }

  get profile(): NodeProfile {
    const { address } = this;
    const roles: Role[] = ["api", "scheduler", "gateway"];
    const said = {
      name: address,
      address,
      roles,
      version: "1",
      level: FEATURE_LEVEL,
      startedAt: 1,
      hasSecret: this.claimsSecret,
    };
    return { incarnation: this.bus.node, ...said };
  }

  /** Next messages for the API role. */
  heard(): Promise<Envelope<unknown>[]> {
    return this.heardBy("api", ({ length }) => length > 0);
  }

  /** All messages for the role until `isEnough` returns true. */
  heardBy(role: Role, isEnough: (messages: readonly Envelope<unknown>[]) => boolean): Promise<Envelope<unknown>[]> {
    const got: Envelope<unknown>[] = [];
    return new Promise((resolve) => {
      const end = this.bus.listen(role, (messages) => {
        got.push(...messages);
        if (!isEnough(got)) return;
        end();
        resolve(got);
      });
    });
  }

  /** Kills the node as SIGKILL does: resets its connections and refuses new ones. */
  async kill(): Promise<void> {
    this.isAlive = false;
    await this.wire.close();
  }

  async close(): Promise<void> {
    await this.wire.close();
    await this.#server.stop();
  }
}
