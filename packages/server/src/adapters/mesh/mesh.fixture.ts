import { authorizes } from "../../api/security.ts";
import { FEATURE_LEVEL } from "../../domain/feature-level.ts";
import { type GrpcServer, startGrpcServer } from "../../gateway/grpc-server.ts";
import { createLog } from "../../ops/logging.ts";
import type { Envelope, Role } from "../../ports/bus.ts";
import type { NodeProfile } from "../../ports/leases.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { MeshBus } from "./mesh-bus.ts";
import { Wire } from "./wire.fixture.ts";

const KEY = "a-key-of-the-cluster";
const log = createLog("silent");
const runtime = systemRuntime();

/** Nodes with real servers in one process, each reached through a wire that a test can cut. */
export class Cluster {
  #nodes: TestNode[] = [];
  #buses: MeshBus[] = [];

  /** A bus that knows nobody. */
  bus(node: string, apiKey = KEY, level = FEATURE_LEVEL): MeshBus {
    const bus = new MeshBus({ node, level, apiKey, runtime, log });
    this.#buses.push(bus);
    return bus;
  }

  /** Nodes that have found each other. */
  async start<const Names extends string[]>(...names: Names): Promise<{ [At in keyof Names]: TestNode }> {
    const nodes: TestNode[] = [];
    for (const name of names) nodes.push(await this.startWith(KEY, name));
    this.meet();
    return nodes as { [At in keyof Names]: TestNode };
  }

  startWith(apiKey: string, name: string): Promise<TestNode> {
    return this.#open(name, apiKey, 0);
  }

  /** Of another feature level. */
  startOf(level: number, name: string): Promise<TestNode> {
    return this.#open(name, KEY, 0, level);
  }

  startAt(address: string, name: string): Promise<TestNode> {
    return this.#open(name, KEY, Number(address.split(":")[1]));
  }

  /** Everybody is told who lives. */
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

  async #open(name: string, apiKey: string, port: number, level?: number): Promise<TestNode> {
    const bus = this.bus(name, apiKey, level);
    const server = await startGrpcServer({
      ...{ gateway: null, services: [bus.service], host: "127.0.0.1", port: 0, runtime, log },
      isAuthorized: authorizes(apiKey),
    });
    const wire = new Wire(server.port);
    const node = new TestNode(bus, server, wire, await wire.listen(port));
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

  constructor(bus: MeshBus, server: GrpcServer, wire: Wire, address: string) {
    this.bus = bus;
    this.wire = wire;
    this.address = address;
    this.#server = server;
  }

  get profile(): NodeProfile {
    const { address } = this;
    const roles: Role[] = ["api", "scheduler", "gateway"];
    return { incarnation: this.bus.node, name: address, address, roles, version: "1", level: 1, startedAt: 1 };
  }

  /** What comes next for the api. */
  heard(): Promise<Envelope<unknown>[]> {
    return this.heardBy("api", ({ length }) => length > 0);
  }

  /** All that comes for the role until it is enough. */
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

  /** As SIGKILL does: its connections are reset, and new ones refused. */
  async kill(): Promise<void> {
    this.isAlive = false;
    await this.wire.close();
  }

  async close(): Promise<void> {
    await this.wire.close();
    await this.#server.stop();
  }
}
