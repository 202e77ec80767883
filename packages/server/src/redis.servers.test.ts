import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { freePort } from "../../../tools/services/free-port.ts";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { startRedis, type TestRedis } from "../../../tools/services/start-redis.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";

const PROGRAM = new URL("../../cli/bin/mainspring.mjs", import.meta.url).pathname;

describe("Redis beside PostgreSQL", () => {
  let postgres: TestPostgres;
  let redis: TestRedis;
  let schemas = 0;
  const nodes: RunningNode[] = [];
  const workers: Worker[] = [];
  const children: ChildProcess[] = [];
  /** Ends of handlers, by the payload of their job. */
  const ended = new Map<string, string>();
  const hold = task({
    name: "hold",
    run: (key: string, ctx) =>
      new Promise<void>((_, reject) => {
        ended.set(key, "RUNS");
        ctx.signal.addEventListener("abort", () => {
          ended.set(key, "STOPPED");
          reject(new Error("stopped"));
        });
      }),
  });

  before(async () => {
    [postgres, redis] = await Promise.all([startPostgres({ version: 14 }), startRedis()]);
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop({ timeoutMs: 0 })));
    await Promise.all(nodes.splice(0).map((node) => node.stop()));
    for (const child of children.splice(0)) if (child.exitCode === null) child.kill("SIGKILL");
    ended.clear();
  });
  after(async () => {
    await redis?.stop();
    await postgres?.stop();
  });

  const newSettings = (): Record<string, string> => {
    const schema = `redis_${schemas++}`;
    return {
      ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_STORE_SCHEMA: schema, MAINSPRING_BUILTIN_WORKER: "off" },
      ...{ MAINSPRING_REDIS: `${redis.url}?prefix=${schema}`, MAINSPRING_STOP_DELAY_SEC: "0" },
    };
  };
  const start = async (settings: Record<string, string>) => {
    const node = await startLocalNode(settings);
    nodes.push(node);
    return { node, client: new Client({ url: node.httpUrl }) };
  };
  const work = async (url: string) => {
    const worker = new Worker({ url, slots: 10, tasks: [hold], warn: () => undefined });
    workers.push(worker);
    await worker.start();
    return worker;
  };
  const spawnNode = (settings: Record<string, string>) => {
    const env = { ...process.env, ...settings };
    const child = spawn(process.execPath, [PROGRAM, "serve"], { stdio: ["ignore", "pipe", "pipe"], env });
    children.push(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (data) => {
        output += String(data);
      });
    return { child, output: () => output };
  };
  const running = async (client: Client, key: string) => {
    const { executionId } = await client.submit({ target: { handler: "hold" }, payload: key });
    await until(() => ended.get(key) === "RUNS");
    return executionId;
  };

  it("shows the workers of a killed gateway as DISCONNECTED, then as DEAD, as long as Redis has them", async () => {
    const prefix = `redis_${schemas}`;
    const settings = { ...newSettings(), MAINSPRING_BUS: "mesh", MAINSPRING_LOG_LEVEL: "fatal" };
    const [http, grpc] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
    const { client } = await start(settings);
    const { child } = spawnNode({ ...settings, MAINSPRING_HTTP: http, MAINSPRING_GRPC: grpc });
    await until(async () => (await fetch(`http://${http}/readyz`).catch(() => null))?.ok === true);
    // The worker knows no other gateway.
    const worker = await work(grpc);
    const listed = async () => (await client.workers()).map(({ state }) => state);
    assert.deepEqual(await listed(), ["ALIVE"]);
    const [gateway] = await until(async () => {
      const names = (await redis.ask("ZRANGE", `${prefix}:gateways`, "0", "-1")).split("\n");
      const written = await Promise.all(names.map((name) => redis.ask("HLEN", `${prefix}:workers:${name}`)));
      const found = names.filter((_, n) => written[n] === "2");
      return found.length > 0 && found;
    });
    child.kill("SIGKILL");
    await once(child, "exit");
    await until(async () => (await listed())[0] === "DISCONNECTED");
    const { workerId } = (await client.workers())[0] ?? { workerId: "" };
    assert.equal((await client.getWorker(workerId)).state, "DISCONNECTED");
    // The age of an entry is what is left of its expiry.
    await redis.ask("PEXPIRE", `${prefix}:workers:${gateway}`, String(600_000 - 31_000));
    assert.deepEqual(await listed(), ["DEAD"]);
    await redis.ask("FLUSHALL");
    assert.deepEqual(await listed(), []);
    await worker.stop({ timeoutMs: 0 });
  });

  it("takes cancellations while PostgreSQL is cut off: the worker stops, and the end is written when PostgreSQL is back", async () => {
    const database = await startDatabase(postgres);
    const { node, client } = await start({ ...newSettings(), MAINSPRING_STORE: database.url });
    await work(node.grpcAddress);
    const [stopped, goesOn] = [await running(client, "stopped"), await running(client, "goes on")];
    const { executionId: waits } = await client.submit({ target: { handler: "hold" }, delayMs: 3_600_000 });
    await database.cut();
    for (const executionId of [stopped, waits]) assert.equal(await client.cancelExecution(executionId), "NOT_DURABLE");
    await until(() => ended.get("stopped") === "STOPPED");
    assert.equal(ended.get("goes on"), "RUNS");
    await database.heal();
    for (const executionId of [stopped, waits])
      assert.equal((await client.waitForExecution(executionId)).state, "CANCELLED");
    assert.equal((await client.getExecution(goesOn)).state, "RUNNING");
    await until(async () => (await redis.ask("ZCARD", `redis_${schemas - 1}:cancels`)) === "0");
    await database.close();
  });

  it("refuses cancellations as before while Redis is away, too, and jobs go on without it", async () => {
    const database = await startDatabase(postgres);
    const { node, client } = await start({ ...newSettings(), MAINSPRING_STORE: database.url });
    await work(node.grpcAddress);
    const executionId = await running(client, "one");
    await redis.kill();
    assert.equal(await client.cancelExecution(await running(client, "two")), "REQUESTED", "the store answers");
    assert.equal((await client.workers())[0]?.state, "ALIVE");
    await database.cut();
    const failed = await fetch(`${node.httpUrl}/v1/executions/${executionId}/cancel`, { method: "POST" });
    assert.equal(failed.status, 503);
    await redis.restart();
    await until(async () => (await client.cancelExecution(executionId).catch(() => null)) === "NOT_DURABLE");
    await redis.ask("FLUSHALL");
    await database.heal();
    // The request is lost with the data of Redis, unless the gateway was told before.
    const state = async () => (await client.getExecution(executionId)).state;
    await until(async () => ["RUNNING", "CANCELLED"].includes(await state().catch(() => "")));
    await database.close();
  });

  it("starts delayed jobs in time with the window on, also after Redis has lost it", async () => {
    const { node, client } = await start({ ...newSettings(), MAINSPRING_REDIS_WINDOW: "on" });
    await work(node.grpcAddress);
    const prefix = `redis_${schemas - 1}`;
    const waiting = async () => {
      const keys = (await redis.ask("KEYS", `${prefix}:window:*`)).split("\n").filter((key) => !key.includes(":mark:"));
      return (await Promise.all(keys.filter((key) => key !== "").map((key) => redis.ask("ZCARD", key)))).map(Number);
    };
    const delayed = async (key: string, delayMs: number) => {
      const { executionId } = await client.submit({ target: { handler: "hold" }, payload: key, delayMs });
      return executionId;
    };
    const lost = await delayed("lost", 10_500);
    await until(async () => (await waiting()).includes(1));
    await redis.ask("FLUSHALL");
    const [soon, kept] = [await delayed("soon", 1_000), await delayed("kept", 11_000)];
    for (const executionId of [soon, lost, kept]) {
      const { startedAt, scheduledAt } = await until(async () => {
        const seen = await client.getExecution(executionId);
        return seen.startedAt === null ? null : seen;
      });
      const lateMs = Date.parse(startedAt ?? "") - Date.parse(scheduledAt);
      assert.ok(lateMs < 3_000, `${lateMs} ms late`);
    }
  });

  it("ends a start with exit code 78 for what stays wrong, and starts without a Redis that does not answer", async () => {
    const local = { ...newSettings(), MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0" };
    const refused = async (MAINSPRING_REDIS: string) => {
      const { child, output } = spawnNode({ ...local, MAINSPRING_REDIS });
      const [code] = await once(child, "exit");
      return { code, output: output() };
    };
    const wrong = await refused(`redis://me:s3cret@127.0.0.1:${redis.port}`);
    assert.equal(wrong.code, 78, wrong.output);
    assert.match(wrong.output, /MAINSPRING_REDIS has a user or a password that Redis refuses: WRONGPASS/);
    assert.doesNotMatch(wrong.output, /s3cret/);
    const { child, output } = spawnNode({ ...local, MAINSPRING_REDIS: `redis://127.0.0.1:${await freePort()}` });
    await until(() => /Mainspring is ready/.test(output()) || child.exitCode !== null);
    assert.match(output(), /Redis does not answer: the server goes on without it/);
    assert.equal(child.exitCode, null, output());
  });
});

interface Database {
  /** Address of the way to PostgreSQL. */
  url: string;
  /** Ends all connections to PostgreSQL, and refuses new ones until `heal`. */
  cut(): Promise<void>;
  heal(): Promise<void>;
  close(): Promise<void>;
}

/** A way to PostgreSQL that the test can cut. */
async function startDatabase({ connection }: TestPostgres): Promise<Database> {
  const { host, port: number, user, database } = connection;
  const port = await freePort();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const inner = connect(join(host, `.s.PGSQL.${number}`));
    for (const one of [socket, inner]) {
      sockets.add(one);
      one.on("error", () => undefined);
      one.on("close", () => {
        sockets.delete(one);
        socket.destroy();
        inner.destroy();
      });
    }
    socket.pipe(inner).pipe(socket);
  });
  const heal = async () => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  };
  const cut = async () => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await heal();
  return { url: `postgres://${user}@127.0.0.1:${port}/${database}`, cut, heal, close: cut };
}
