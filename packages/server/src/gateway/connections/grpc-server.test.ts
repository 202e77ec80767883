import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { afterEach, describe, it } from "node:test";
import { status } from "@grpc/grpc-js";
import { PROTOCOL_VERSION } from "@mainspring/proto";
import pino from "pino";
import { type HeldUse, isRefusal } from "../../ports/authenticator.ts";
import { settingsAuthenticator } from "../../security/key-authenticator.ts";
import { assignment, Stage } from "../gateway.fixture.ts";
import { RECEIVED_MESSAGE_MAX_BYTES } from "../limits.ts";
import { Peer } from "./grpc-peer.fixture.ts";
import { type GrpcServer, startGrpcServer } from "./grpc-server.ts";

const HELLO = {
  protocolVersion: PROTOCOL_VERSION,
  workerId: "worker-1",
  name: "over grpc",
  pool: "default",
  handlers: ["echo"],
  slots: 100,
};

describe("the worker protocol over gRPC", () => {
  const servers: GrpcServer[] = [];
  const peers: Peer[] = [];
  const stages: Stage[] = [];

  async function start(
    apiKey: string | null = null,
    limits: { idleMs?: number } = {},
    hold: (use: HeldUse) => void = () => undefined,
    certificateId: string | null = null,
  ): Promise<{ stage: Stage; server: GrpcServer; peer: Peer; lines: { msg: string; keyId?: string }[] }> {
    const stage = new Stage();
    stage.own();
    const { gateway, runtime } = stage;
    const lines: { msg: string; keyId?: string }[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const keys = settingsAuthenticator({ apiKey }, runtime);
    const judge = keys.judge.bind(keys);
    const authenticator = Object.assign(keys, {
      judge: (authorization: string | undefined, address: string) => {
        const judged = judge(authorization, address);
        return judged instanceof Promise || isRefusal(judged) ? judged : { ...judged, certificateId };
      },
      hold: (use: HeldUse) => {
        hold(use);
        return () => undefined;
      },
    });
    const server = await startGrpcServer({
      workers: { gateway, authenticator },
      host: "127.0.0.1",
      port: 0,
      isAuthorized: () => false,
      runtime,
      log,
      ...limits,
    });
    const peer = new Peer(server.address);
    stages.push(stage);
    servers.push(server);
    peers.push(peer);
    return { stage, server, peer, lines };
  }

  afterEach(async () => {
    for (const peer of peers.splice(0)) peer.close();
    for (const stage of stages.splice(0)) stage.gateway.close();
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  it("carries a job to a worker and its result back", async () => {
    const { stage, peer } = await start();
    peer.say({ hello: HELLO });
    assert.equal((await peer.next()).welcome?.heartbeatIntervalMs, 10_000);
    stage.assign(assignment(1, { payload: Buffer.from("[1]") }));
    const { assigns } = await peer.next();
    assert.equal(Buffer.from(assigns[0]?.payload ?? []).toString(), "[1]");
    stage.forgetReports();
    peer.say({ finished: [{ token: assigns[0]?.token ?? {}, outcome: 1, result: Buffer.from("[2]") }] });
    peer.goodbye();
    assert.equal((await peer.status).code, status.OK);
    const [finished] = stage.reportsOf("FINISHED");
    assert.equal(Buffer.from(finished?.results[0]?.result ?? []).toString(), "[2]");
    assert.equal(stage.gateway.counters.workersConnected, 0);
  });

  it("ends the stream of a worker that it cannot take with a status that says why", async () => {
    const { peer } = await start();
    peer.say({ hello: { ...HELLO, protocolVersion: 2 } });
    const { code, details } = await peer.status;
    assert.equal(code, status.FAILED_PRECONDITION);
    assert.equal(
      details,
      "protocol version 2 is not known here; this server speaks 1: upgrade the servers first, or use an older SDK",
    );
  });

  it("takes nobody who is not authorized", async () => {
    const { peer, stage } = await start("a-key-of-some-length");
    peer.say({ hello: HELLO });
    assert.equal((await peer.status).code, status.UNAUTHENTICATED);
    assert.equal(stage.gateway.counters.workersConnected, 0);
  });

  it("takes no worker without TLS whose key requires a certificate, and logs that once", async () => {
    const { peer, server, lines } = await start(
      "a-key-of-some-length",
      {},
      undefined,
      "019a0000-0000-7000-8000-000000000007",
    );
    const again = new Peer(server.address, "a-key-of-some-length");
    peers.push(again);
    peer.close();
    for (const one of [again, new Peer(server.address, "a-key-of-some-length")]) {
      peers.push(one);
      one.say({ hello: HELLO });
      const { code, details } = await one.status;
      assert.equal(code, status.PERMISSION_DENIED);
      assert.match(details, /^the API key requires a certificate of the worker, and this connection came without TLS/);
    }
    const warned = lines.filter(({ msg }) => msg === "the gateway refuses a worker for its certificate");
    assert.deepEqual(
      warned.map(({ keyId }) => keyId),
      ["environment"],
    );
  });

  it("ends the stream of a worker whose key is no longer good", { timeout: 20_000 }, async () => {
    const held: HeldUse[] = [];
    const { peer, stage } = await start(null, {}, (use) => held.push(use));
    peer.say({ hello: HELLO });
    assert.ok((await peer.next()).welcome);
    held[0]?.end({ code: "UNAUTHENTICATED", detail: "the API key was revoked" });
    const { code, details } = await peer.status;
    assert.deepEqual([code, details], [status.UNAUTHENTICATED, "the API key was revoked"]);
    assert.equal(stage.gateway.counters.workersConnected, 0);
  });

  it("keeps no connection that is of no use, and every one that is", async () => {
    const { server, peer, stage } = await start(null, { idleMs: 50 });
    peer.say({ hello: HELLO });
    assert.ok((await peer.next()).welcome);
    const silent = connect(Number(server.address.split(":")[1]), "127.0.0.1").resume();
    const started = connect(Number(server.address.split(":")[1]), "127.0.0.1").resume();
    started.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    await Promise.all([once(silent, "close"), once(started, "close")]);
    assert.equal(stage.gateway.counters.workersConnected, 1);
  });

  it("survives bytes that are no message, and messages that are too large", async () => {
    const { server, peer } = await start();
    peer.sayBytes(Buffer.from("no protobuf at all"));
    const { code, details } = await peer.status;
    assert.equal(code, status.INVALID_ARGUMENT);
    assert.match(details, /no message of the worker protocol/);
    const second = new Peer(server.address);
    peers.push(second);
    second.sayBytes(Buffer.alloc(RECEIVED_MESSAGE_MAX_BYTES + 1));
    second.readOn();
    assert.equal((await second.status).code, status.RESOURCE_EXHAUSTED);
    const third = new Peer(server.address);
    peers.push(third);
    third.say({ hello: HELLO });
    assert.ok((await third.next()).welcome);
  });

  it("knows that a connection broke", async () => {
    const { stage, peer } = await start();
    peer.say({ hello: HELLO });
    await peer.next();
    const draining = stage.bus.nextReport((message) => message.kind === "WORKER_DRAINING");
    peer.say({ draining: true });
    await draining;
    // The gateway reports that the drained worker is gone.
    const left = stage.bus.nextReport((message) => message.kind === "WORKER_LOST");
    peer.close();
    await left;
    assert.equal(stage.gateway.counters.workersConnected, 0);
  });

  it("gives no more work to a worker that does not read, and cuts it off after 30 s", async () => {
    const { stage, peer } = await start();
    peer.say({ hello: HELLO });
    await peer.next();
    peer.stopReading();
    const payload = new Uint8Array(1024 * 1024);
    stage.assign(...Array.from({ length: 20 }, (_, index) => assignment(index + 1, { payload })));
    stage.forgetReports();
    stage.assign(assignment(21, { payload }));
    assert.equal(stage.reportsOf("FINISHED")[0]?.results[0]?.state, "RELEASED");
    assert.equal(stage.gateway.counters.workersConnected, 1);
    stage.runtime.advance(29_000);
    assert.equal(stage.gateway.counters.workersConnected, 1);
    stage.runtime.advance(1_000);
    assert.equal(stage.gateway.counters.workersConnected, 0);
    stage.runtime.advance(1_000);
    peer.readOn();
    assert.notEqual((await peer.status).code, status.OK);
  });

  it("tells workers that the server stops", async () => {
    const { stage, server, peer } = await start();
    peer.say({ hello: HELLO });
    await peer.next();
    stage.gateway.close();
    const { code, details } = await peer.status;
    assert.equal(code, status.UNAVAILABLE);
    assert.equal(details, "the server is stopping");
    peer.close();
    await server.stop();
    servers.length = 0;
  });

  it("says which address is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const { gateway, runtime } = new Stage();
    const log = pino({ level: "silent" });
    await assert.rejects(
      startGrpcServer({
        workers: { gateway, authenticator: settingsAuthenticator({ apiKey: null }, runtime) },
        ...{ host: "127.0.0.1", port, isAuthorized: () => true, runtime, log },
      }),
      {
        code: "EADDRINUSE",
        port,
      },
    );
    other.close();
    gateway.close();
  });
});
