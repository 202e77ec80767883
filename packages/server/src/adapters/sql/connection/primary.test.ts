import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { StoreUnavailable, StoreUnusable } from "../../../ports/store.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { silent, startTestServer, type TestServer, testConnections } from "../testing/databases.ts";
import { fatal, ServerDouble } from "../testing/server-double.ts";
import type { Connections } from "./connections.ts";
import { preflight } from "./preflight.ts";

describe("the primary among several servers", () => {
  let server: TestServer;
  const doubles: ServerDouble[] = [];
  before(async () => {
    server = await startTestServer();
  });
  afterEach(() => {
    for (const double of doubles.splice(0)) double.close();
  });
  after(() => server.stop());

  async function double(isStandby: boolean, farewell?: Buffer): Promise<ServerDouble> {
    const made = await ServerDouble.listen(isStandby, farewell);
    doubles.push(made);
    return made;
  }

  /** @param ports ports of other servers, which the list names before the real one */
  async function open(ports: readonly number[]): Promise<Connections> {
    const { user, host = "", port, database } = await server.newDatabase();
    const hosts = [...ports.map((other) => `127.0.0.1:${other}`), `${encodeURIComponent(host)}:${port}`];
    return connections(`postgres://${user}@${hosts.join(",")}/${database}?target_session_attrs=read-write`);
  }

  it("is found behind a standby and behind a server that is gone", async () => {
    const [standby, gone] = [await double(true), await double(false)];
    const ports = [standby.port, gone.port];
    gone.close();
    const db = await open(ports);
    assert.deepEqual(await db.run("read", { text: "SELECT 1" }), [[1]]);
    await preflight(db, silent);
    await db.close();
  });

  it("is asked for once, and again when a connection to it breaks", async () => {
    const standby = await double(true);
    const db = await open([standby.port]);
    await Promise.all([db.run("read", { text: "SELECT 1" }), db.run("query", { text: "SELECT 1" })]);
    await db.run("submit", { text: "SELECT 1" });
    assert.equal(standby.greeted, 1);
    const ended = new Promise((resolve) => db.watchEnds(resolve));
    const end = db.run("commit", { text: "SELECT pg_terminate_backend(pg_backend_pid())" });
    await assert.rejects(end, StoreUnavailable);
    await ended;
    await db.run("commit", { text: "SELECT 1" });
    assert.equal(standby.greeted, 2);
    await db.close();
  });

  it("is missing where all are standbys: each is named with its reason, and it may come", async () => {
    const [one, other] = [await double(true), await double(true)];
    const db = connections(`postgres://me@127.0.0.1:${one.port},127.0.0.1:${other.port}/jobs`);
    const message = new RegExp(
      `127.0.0.1:${one.port}: the server is a read-only standby; 127.0.0.1:${other.port}: the`,
    );
    await assert.rejects(
      preflight(db, silent),
      (error) => error instanceof StoreUnavailable && message.test(error.message),
    );
    await db.close();
  });

  it("may end a connection as soon as it has greeted, as a takeover does: that fails a statement and not the process", async () => {
    const { port } = await double(false, fatal("57P01", "terminating connection due to administrator command"));
    const db = connections(`postgres://me@127.0.0.1:${port}/jobs`);
    await assert.rejects(db.run("read", { text: "SELECT 1" }), StoreUnavailable);
    await db.close();
  });

  it("is what a single server has to be", async () => {
    const { port } = await double(true);
    const db = connections(`postgres://me@127.0.0.1:${port}/jobs`);
    await assert.rejects(
      preflight(db, silent),
      (error) => error instanceof StoreUnusable && /read-only standby/.test(error.message),
    );
    await db.close();
  });
});

function connections(connection: string): Connections {
  return testConnections(connection, systemRuntime(), "me");
}
