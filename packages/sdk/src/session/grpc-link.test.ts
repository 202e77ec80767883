import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, describe, it } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type ServerMessage, type WorkerMessage, WorkerMessageSchema } from "@mainspring/proto";
import { ManualRuntime } from "../../test/manual-runtime.ts";
import { assign, TinyGateway } from "../../test/tiny-gateway.ts";
import { grpcLink } from "./grpc-link.ts";
import type { ClosedReason, LinkConnection } from "./worker-link.ts";

const OK = 0;
const CANCELLED = 1;
const FAILED_PRECONDITION = 9;
const UNAVAILABLE = 14;

/** Worker's end of one connection. */
class Peer {
  readonly runtime = new ManualRuntime();
  readonly connection: LinkConnection;
  readonly received: ServerMessage[] = [];
  readonly #first = Promise.withResolvers<ServerMessage>();
  readonly #closed = Promise.withResolvers<ClosedReason>();

  constructor(address: string, apiKey: string | null = null) {
    const access = { targets: [{ address, isTls: false }], ca: null, certificate: null };
    this.connection = grpcLink(access, { apiKey, refused: () => undefined }, this.runtime).open({
      message: this.#first.resolve,
      closed: this.#closed.resolve,
    });
  }

  get first(): Promise<ServerMessage> {
    return this.#first.promise;
  }

  get closed(): Promise<ClosedReason> {
    return this.#closed.promise;
  }

  send(init: MessageInitShape<typeof WorkerMessageSchema>): void {
    this.connection.send(create(WorkerMessageSchema, init));
  }
}

/** A proxy to a port of this machine that can be told to go silent in both directions. */
async function silencable(port: number) {
  const sockets: Socket[] = [];
  const server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    sockets.push(near, far);
    for (const socket of [near, far]) socket.on("error", () => undefined);
    near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    silence() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const any = (_message: WorkerMessage) => true;

describe("a connection over gRPC", () => {
  const gateways: TinyGateway[] = [];
  async function startGateway(): Promise<TinyGateway> {
    const gateway = await TinyGateway.start();
    gateways.push(gateway);
    return gateway;
  }
  afterEach(() => {
    for (const gateway of gateways.splice(0)) gateway.stop();
  });

  it("carries messages both ways, and the key", async () => {
    const gateway = await startGateway();
    const peer = new Peer(gateway.address, "secret");
    peer.send({ hello: { workerId: "w" } });
    const stream = await gateway.stream();
    assert.equal((await stream.next(any)).hello?.workerId, "w");
    assert.deepEqual(stream.metadata.get("authorization"), ["Bearer secret"]);
    stream.send({ welcome: { heartbeatIntervalMs: 77 } });
    assert.equal((await peer.first).welcome?.heartbeatIntervalMs, 77);
  });

  it("sends no key where there is none", async () => {
    const gateway = await startGateway();
    new Peer(gateway.address).send({ draining: true });
    assert.deepEqual((await gateway.stream()).metadata.get("authorization"), []);
  });

  it("takes messages beyond the four mebibytes that gRPC takes by default", async () => {
    const gateway = await startGateway();
    const peer = new Peer(gateway.address);
    const payload = Buffer.alloc(1024 * 1024, "x");
    (await gateway.stream()).send({ assigns: Array.from({ length: 6 }, (_, i) => assign(`${i}`, { payload })) });
    assert.equal((await peer.first).assigns.length, 6);
  });

  it("ends with the gateway's status", async () => {
    const gateway = await startGateway();
    const peer = new Peer(gateway.address);
    const stream = await gateway.stream();
    stream.refuse({ code: FAILED_PRECONDITION, details: "protocol version 9 is not known" });
    assert.deepEqual(await peer.closed, {
      code: FAILED_PRECONDITION,
      message: `${gateway.address}: protocol version 9 is not known`,
    });
    // The side that has not noticed the break can still send, without harm.
    peer.send({ draining: true });
    peer.connection.close();
  });

  it("ends where nobody listens, and where the gateway dies", async () => {
    const gateway = await startGateway();
    const peer = new Peer(gateway.address);
    await gateway.stream();
    gateway.stop();
    assert.notEqual((await peer.closed).code, OK);
    const { code, message } = await new Peer(gateway.address).closed;
    assert.equal(code, UNAVAILABLE);
    assert.ok(message.startsWith(`connection refused at ${gateway.address}`), message);
  });

  it("ends where a gateway is held up and keeps its connections", async () => {
    const gateway = await startGateway();
    const way = await silencable(gateway.port);
    try {
      const peer = new Peer(way.address);
      peer.send({ hello: { workerId: "w" } });
      (await gateway.stream()).send({ welcome: { heartbeatIntervalMs: 77 } });
      await peer.first;
      way.silence();
      assert.equal((await peer.closed).code, UNAVAILABLE);
    } finally {
      way.close();
    }
  });

  it("says goodbye after all that was sent", async () => {
    const gateway = await startGateway();
    const peer = new Peer(gateway.address);
    for (let running = 1; running <= 100; running++) peer.send({ heartbeat: { running } });
    peer.connection.close();
    const stream = await gateway.stream();
    const last = await stream.next((message) => message.heartbeat?.running === 100);
    assert.ok(last.heartbeat);
    await stream.ended;
    assert.equal((await peer.closed).code, OK);
  });

  it("is cut where the gateway does not answer the goodbye", async () => {
    const gateway = await startGateway();
    const peer = new Peer(gateway.address);
    const stream = await gateway.stream();
    stream.ignoreGoodbye();
    peer.connection.close();
    await stream.ended;
    await peer.runtime.advance(2_000);
    assert.equal((await peer.closed).code, CANCELLED);
  });

  it("says so when the gateway does not keep up", async () => {
    const gateway = await startGateway();
    const peer = new Peer(gateway.address);
    const stream = await gateway.stream();
    stream.stopReading();
    assert.equal(peer.connection.isCongested?.(), false);
    const result = Buffer.alloc(1024 * 1024);
    for (let i = 0; i < 20; i++) peer.send({ finished: [{ result }] });
    assert.equal(peer.connection.isCongested?.(), true);
    peer.connection.close();
    await peer.runtime.advance(2_000);
    assert.equal((await peer.closed).code, CANCELLED);
  });
});
