import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { type ConnectionOptions, connect } from "node:tls";
import { pino } from "pino";
import { newAuthority } from "../../../../../tools/services/certificates.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { startGrpcServer } from "./grpc-server.ts";

const DAY_MS = 24 * 3_600_000;

it("ends the connection of a node when the certificate of the node ends, and no other one", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mainspring-peer-"));
  t.after(() => rm(folder, { recursive: true }));
  const authority = await newAuthority(folder, "ca");
  const issued = await authority.issue("node", ["DNS:localhost", "URI:mainspring://test/node"], 40);
  const [ca = "", cert = "", key = ""] = await Promise.all(
    [authority.certFile, issued.certFile, issued.keyFile].map((file) => readFile(file, "utf8")),
  );
  const runtime = new ManualRuntime();
  const server = await startGrpcServer({
    ...{ workers: null, host: "127.0.0.1", port: 0, isAuthorized: () => true, runtime },
    ...{ certificates: { current: { cert, key, ca }, onChange: () => undefined }, log: pino({ level: "silent" }) },
  });
  t.after(() => server.stop());
  const open = async (more: ConnectionOptions) => {
    const socket = connect({
      port: server.port,
      host: "127.0.0.1",
      servername: "localhost",
      ca,
      ALPNProtocols: ["h2"],
      ...more,
    });
    socket.on("error", () => undefined).resume();
    t.after(() => socket.destroy());
    // The server sends its settings once it has taken the connection.
    await once(socket, "data");
    return socket;
  };
  const [node, worker] = [await open({ cert, key }), await open({})];
  const { valid_to: validTo } = node.getPeerCertificate();
  await runtime.advance(Date.parse(validTo) - runtime.now() - 1);
  assert.equal(node.destroyed, false);
  const ended = once(node, "close");
  await runtime.advance(1);
  await ended;
  await runtime.advance(DAY_MS);
  assert.equal(worker.destroyed, false);
});
