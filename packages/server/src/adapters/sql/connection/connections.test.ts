import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after, before, it } from "node:test";
import type pg from "pg";
import { StoreUnavailable } from "../../../ports/store.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { asked, hurriedRuntime, startTestServer, type TestServer, testConnections } from "../testing/databases.ts";
import type { Connection, Connections } from "./connections.ts";
import { isDataError } from "./errors.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

it("names its connections and sets them up, whatever the address says", async () => {
  const { user, host = "", port, database } = await server.newDatabase();
  const said = "application_name=mine&options=-c%20statement_timeout%3D1%20-c%20work_mem%3D5MB";
  const db = open(`postgres://${user}@${encodeURIComponent(host)}:${port}/${database}?${said}`);
  const settings = ["application_name", "work_mem", "statement_timeout", "default_transaction_isolation"];
  const text = `SELECT ${settings.map((name) => `current_setting('${name}')`).join(", ")}`;
  assert.deepEqual(await db.run("commit", { text }), [["mainspring/me/commit", "5MB", "10s", "read committed"]]);
  await db.close();
});

it("keeps a connection whose statement was refused for its data, and replaces one that broke", async () => {
  const db = open(await server.newDatabase());
  const pid = async () => (await db.run("commit", { text: "SELECT pg_backend_pid()" }))[0]?.[0];
  const first = await pid();
  await assert.rejects(db.run("commit", { text: "SELECT 1 / 0" }), isDataError);
  assert.equal(await pid(), first);
  await assert.rejects(db.run("commit", { text: "SELECT pg_terminate_backend(pg_backend_pid())" }), StoreUnavailable);
  assert.notEqual(await pid(), first);
  await db.close();
});

it("takes a connection that is at hand within the turn, and gives it to who waits", async () => {
  const db = open(await server.newDatabase());
  const ask = () => db.run("commit", { text: "SELECT pg_backend_pid()" });
  const load = () => db.load().find(({ purpose }) => purpose === "commit");
  const first = await ask();
  assert.deepEqual(load(), { purpose: "commit", busy: 0, max: 1, waiting: 0 });
  const asking = [ask(), ask()];
  assert.deepEqual(load(), { purpose: "commit", busy: 1, max: 1, waiting: 1 });
  assert.deepEqual(await Promise.all(asking), [first, first]);
  assert.deepEqual(await ask(), first);
  assert.equal(load()?.busy, 0);
  await db.close();
});

it("answers a read by id while lists keep all connections for lists", async () => {
  const db = open(await server.newDatabase());
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const lists = [1, 2].map(() => db.session("list", () => held));
  assert.deepEqual(await db.run("query", { text: "SELECT 1" }), [[1]]);
  const over = new AbortController();
  const third = db.run("list", { text: "SELECT 1" }).finally(() => over.abort());
  const refused = assert.rejects(third, { name: "StoreUnavailable", isListTimeout: true });
  while (!over.signal.aborted) await db.run("query", { text: "SELECT pg_sleep(0.2)" });
  await refused;
  release();
  await Promise.all(lists);
  await db.close();
});

it("tells a list that took too long from a store that does not answer", async () => {
  const db = open(await server.newDatabase());
  const slow = { text: "SET statement_timeout = 1; SELECT pg_sleep(10)" };
  await assert.rejects(db.run("list", slow), { name: "StoreUnavailable", isListTimeout: true });
  await assert.rejects(db.run("query", slow), { name: "StoreUnavailable", isListTimeout: false });
  await db.close();
});

it("survives that an idle connection is ended", async () => {
  const connection = await server.newDatabase();
  const db = open(connection);
  await db.run("read", { text: "SELECT 1" });
  await asked(
    connection,
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'mainspring/me/read'",
  );
  // The pool may not know yet that the connection has ended; then this statement finds out.
  await db.run("read", { text: "SELECT 1" }).catch((error) => assert.ok(error instanceof StoreUnavailable));
  assert.deepEqual(await db.run("read", { text: "SELECT 1" }), [[1]]);
  await db.close();
});

it("waits for what is under way when it closes, but not for ever", async () => {
  const connection = await server.newDatabase();
  const db = open(connection, hurriedRuntime(undefined, 5_000));
  const endless = db.run("maintain", { text: "SELECT pg_sleep(600)" });
  const sleeping = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
  while ((await asked(connection, sleeping)).length === 0);
  const ended = assert.rejects(endless, StoreUnavailable);
  await db.close();
  await ended;
  await assert.rejects(db.run("read", { text: "SELECT 1" }), StoreUnavailable);
});

function open(connection: Connection, runtime = systemRuntime()): Connections {
  return testConnections(connection, runtime, "me");
}

it("has an answer for people within seconds where packets are lost, and goes on when they arrive", async () => {
  const way = await wayTo(await server.newDatabase());
  const db = open(way.connection);
  for (const purpose of ["query", "submit", "read"] as const) await db.run(purpose, { text: "SELECT 1" });
  way.lose();
  const read = db.run("read", { text: "SELECT 2" });
  const isUnasked = (error: unknown) => error instanceof StoreUnavailable && error.isUnasked;
  await assert.rejects(db.run("query", { text: "SELECT 1" }), (error) => !isUnasked(error));
  await assert.rejects(db.run("submit", { text: "SELECT 1" }), isUnasked);
  way.carry();
  assert.deepEqual(await read, [[2]]);
  assert.deepEqual(await db.run("submit", { text: "SELECT 3" }), [[3]]);
  await db.close();
  way.close();
});

/** A proxy to a database on which packets can be lost for a while; they arrive when they are sent again. */
async function wayTo({ host = "", port = 5432, ...rest }: pg.ClientConfig) {
  const pairs: [Socket, Socket][] = [];
  const listener = createServer((near) => {
    const far = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    for (const socket of [near, far]) socket.on("error", () => undefined);
    near.pipe(far).pipe(near);
    pairs.push([near, far]);
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  return {
    connection: { ...rest, host: "127.0.0.1", port: (listener.address() as AddressInfo).port },
    lose() {
      for (const pair of pairs) for (const socket of pair) socket.unpipe().pause();
    },
    carry() {
      for (const [near, far] of pairs) near.pipe(far).pipe(near);
    },
    close() {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      listener.close();
    },
  };
}
