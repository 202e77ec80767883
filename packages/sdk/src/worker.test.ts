import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, it } from "node:test";
import { Worker as Thread } from "node:worker_threads";
import { Outcome, type WorkerMessage } from "@mainspring/proto";
import { type Blocking, IS_BLOCKED, MAY_GO_ON } from "../test/gateway-thread.ts";
import { token } from "../test/session-scene.ts";
import { assign, TinyGateway, type TinyStream } from "../test/tiny-gateway.ts";
import { ApiKeySource } from "./client/api-key.ts";
import { stallCells } from "./handlers/stall-guard.ts";
import { StartBoard } from "./handlers/start-board.ts";
import type { Stall, WorkerHooks } from "./handlers/worker-hooks.ts";
import { ThreadSession } from "./session/thread-session.ts";
import type { Orders } from "./session/work.ts";
import { task } from "./task.ts";
import { Worker, type WorkerOptions } from "./worker.ts";

const FAILED_PRECONDITION = 9;
const hello = (message: WorkerMessage) => message.hello !== undefined;
const result = (message: WorkerMessage) => message.finished.length > 0;

const noop = task({ name: "noop", run: (payload: unknown) => payload });

describe("a worker", () => {
  const gateways: TinyGateway[] = [];
  async function startGateway(port = 0): Promise<TinyGateway> {
    const gateway = await TinyGateway.start(port);
    gateways.push(gateway);
    return gateway;
  }
  const workers: Worker[] = [];
  function newWorker(options: WorkerOptions): Worker {
    const worker = new Worker(options);
    workers.push(worker);
    return worker;
  }
  afterEach(async () => {
    for (const gateway of gateways.splice(0)) gateway.stop();
    // Workers of a failed test would otherwise try to connect for ever.
    await Promise.allSettled(workers.splice(0).map((worker) => worker.stop({ timeoutMs: 0 })));
  });

  it("runs tasks from another thread's connection, and leaves when all is acknowledged", async () => {
    const gateway = await startGateway();
    const cancelled = task({
      name: "cancelled",
      run: async (_payload: unknown, ctx) => {
        ctx.progress(0.5, "half");
        ctx.log("waits");
        await once(ctx.signal, "abort");
        throw ctx.signal.reason;
      },
    });
    const tasks = [noop, cancelled];
    const worker = newWorker({ url: gateway.address, tasks, slots: 2, pool: "p", capabilities: ["gpu"], apiKey: "k" });
    const started = worker.start();
    const stream = await gateway.stream();
    const { hello: said } = await stream.next(hello);
    assert.deepEqual([said?.pool, said?.slots, said?.handlers], ["p", 2, ["noop", "cancelled"]]);
    assert.deepEqual([said?.capabilities, stream.metadata.get("authorization")], [["gpu"], ["Bearer k"]]);
    stream.send({ welcome: { heartbeatIntervalMs: 1_000 } });
    await started;
    stream.send({ assigns: [assign("a", { payload: Buffer.from('"ü"') }), assign("b", { handler: "cancelled" })] });
    assert.equal((await stream.next((message) => message.logs.length > 0)).logs[0]?.line, "waits");
    const [first] = (await stream.next(result)).finished;
    assert.deepEqual([first?.outcome, Buffer.from(first?.result ?? []).toString()], [Outcome.SUCCEEDED, '"ü"']);
    stream.send({ cancels: [{ token: token("b"), reason: 1 }] });
    const [second] = (await stream.next(result)).finished;
    assert.deepEqual([second?.outcome, second?.error?.name], [Outcome.CANCELLED, "AbortError"]);
    const stopped = worker.stop();
    await stream.next((message) => message.draining);
    stream.send({ acks: [token("a"), token("b")] });
    await stream.ended;
    await stopped;
    await worker.closed;
  });

  it("is heard while a handler blocks its loop: that the handler has started, and how late that loop is", async () => {
    const blocking: Blocking = new Int32Array(new SharedArrayBuffer(8));
    const gateway = new Thread(new URL("../test/gateway-thread.ts", import.meta.url), { workerData: blocking });
    const exited = once(gateway, "exit");
    const [address] = await once(gateway, "message");
    const block = task({
      name: "noop",
      run: () => {
        Atomics.store(blocking, IS_BLOCKED, 1);
        return Atomics.wait(blocking, MAY_GO_ON, 0, 10_000);
      },
    });
    const begun: number[] = [];
    const stalls: Stall[] = [];
    const hooks: WorkerHooks = {
      onStart: ({ startedAt }) => void begun.push(startedAt.getTime()),
      onStalled: (stall) => void stalls.push(stall),
    };
    const worker = newWorker({ url: address, tasks: [block], ...hooks });
    const verdict = once(gateway, "message");
    await worker.start();
    const [{ starts, isBlockedAtStart, heartbeats, result }] = await verdict;
    assert.deepEqual(starts, [["x", 1, begun[0]]]);
    assert.ok(isBlockedAtStart, "the start was told only when the handler had ended");
    assert.equal(result, '"ok"', "the gateway heard too little while the loop was blocked");
    assert.ok(heartbeats >= 5);
    await Promise.all([worker.closed, exited]);
    const [stall] = stalls;
    assert.ok(stall?.reason === "LOOP_BLOCKED" && stall.forMs >= 600, JSON.stringify(stalls));
  });

  it("logs an attempt that failed, with its error and the place of it", async () => {
    const gateway = await startGateway();
    const warned = Promise.withResolvers<string>();
    const bad = task({
      name: "bad",
      run: () => {
        throw new RangeError("no such city");
      },
    });
    const worker = newWorker({ url: gateway.address, tasks: [bad], warn: warned.resolve });
    void worker.start();
    await welcomed(gateway, { assigns: [assign("x", { handler: "bad" })] });
    const line =
      /^attempt 1 of execution x \(handler "bad"\) failed after \d+ ms, failure 1 of at most \d+: RangeError: no such city \(at .*worker\.test\.ts:/;
    assert.match(await warned.promise, line);
  });

  it("comes back to a gateway that was restarted, with what it holds and its results", async () => {
    const before = await startGateway();
    const held = Promise.withResolvers<string>();
    const warnings: string[] = [];
    const long = task({ name: "long", run: () => held.promise });
    const options = {
      url: before.address,
      tasks: [noop, long],
      warn: (message: string) => void warnings.push(message),
    };
    const worker = newWorker(options);
    const started = worker.start();
    const assigns = [assign("done"), assign("long", { handler: "long" })];
    const first = await welcomed(before, { assigns });
    await started;
    await first.next(result);
    before.stop();
    const after = await startGateway(before.port);
    const second = await after.stream();
    const { hello: again } = await second.next(hello);
    assert.deepEqual(again?.holds.map((hold) => `${hold.token?.executionId} ${hold.finished}`).sort(), [
      "done true",
      "long false",
    ]);
    second.send({ welcome: { heartbeatIntervalMs: 1_000 } });
    assert.equal((await second.next(result)).finished[0]?.token?.executionId, "done");
    held.resolve("at last");
    assert.equal((await second.next(result)).finished[0]?.token?.executionId, "long");
    assert.match(warnings[0] ?? "", /not connected to the server/);
    second.send({ acks: [token("done"), token("long")], drain: true });
    await worker.closed;
  });

  it("names the address and its setting where that is an HTTP server", async () => {
    const http = createServer().listen(0, "127.0.0.1");
    await once(http, "listening");
    const { port } = http.address() as AddressInfo;
    const warned = Promise.withResolvers<string>();
    const worker = newWorker({ url: `127.0.0.1:${port}`, tasks: [noop], warn: warned.resolve });
    worker.start().catch(() => undefined);
    const why = `127.0.0.1:${port} does not speak gRPC without TLS: is MAINSPRING_GRPC_URL (or the option url) right?`;
    assert.ok((await warned.promise).includes(why), await warned.promise);
    await worker.stop();
    http.close();
  });

  it("says why a server will not have it", async () => {
    const gateway = await startGateway();
    const worker = newWorker({ url: gateway.address, tasks: [noop] });
    const started = worker.start();
    (await gateway.stream()).refuse({ code: FAILED_PRECONDITION, details: "protocol version 1 is not known" });
    const refusal = { code: "WORKER_REFUSED", message: /protocol version 1 is not known/ };
    await assert.rejects(started, refusal);
    await assert.rejects(worker.closed, refusal);
  });

  it("can be stopped while there is no server, and before it was started", async () => {
    const gone = await startGateway();
    gone.stop();
    const warned = Promise.withResolvers<string>();
    const worker = newWorker({ url: gone.address, tasks: [noop], warn: warned.resolve });
    const started = worker.start();
    const why = `connection refused at ${gone.address}: is MAINSPRING_GRPC_URL (or the option url) right, and is the server running?`;
    assert.equal(await warned.promise, `not connected to the server: ${why}. The worker goes on trying`);
    await worker.stop();
    await assert.rejects(started, { code: "UNAVAILABLE" });
    await worker.closed;
    const idle = newWorker({ url: gone.address, tasks: [noop] });
    await idle.stop();
    assert.equal(await idle.closed, undefined);
  });

  it("leaves on a signal where it was told to run", async () => {
    const gateway = await startGateway();
    const listeners = process.listenerCount("SIGTERM");
    const ran = newWorker({ url: gateway.address, tasks: [noop] }).run();
    const stream = await welcomed(gateway);
    // A worker that has not heard the welcome has nothing to drain, and leaves without a message.
    await stream.next((message) => message.heartbeat !== undefined);
    process.emit("SIGTERM", "SIGTERM");
    await stream.next((message) => message.draining);
    await stream.ended;
    await ran;
    assert.equal(process.listenerCount("SIGTERM"), listeners);
  });

  it("runs in a program that was given on the command line, and lets it end", async (t) => {
    const gateway = await startGateway();
    const program = `
      import { task, Worker } from ${JSON.stringify(new URL("./index.ts", import.meta.url).href)};
      const worker = new Worker({ url: "${gateway.address}", tasks: [task({ name: "noop", run: () => 1 })] });
      await worker.start();
      await worker.closed;
    `;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "inherit" });
    t.after(() => child.kill("SIGKILL"));
    const exited = once(child, "exit");
    await welcomed(gateway, { drain: true });
    assert.deepEqual(await exited, [0, null]);
  });
});

describe("a connection's thread that fails", () => {
  it("takes the handlers with it: nobody would hear them any more", async () => {
    const orders: Orders[] = [];
    const left = Promise.withResolvers<unknown>();
    const profile = {
      workerId: "w",
      name: "w",
      pool: "p",
      handlers: ["noop"],
      capabilities: [],
      slots: 1,
      prefetch: 0,
    };
    // An API key that gRPC refuses; the Worker class would have refused it before.
    const settings = {
      profile,
      targets: [{ address: "127.0.0.1:1", isTls: false }],
      apiKey: new ApiKeySource("\n", null),
      ca: null,
      certificate: null,
      cells: stallCells(),
      starts: StartBoard.of(1).memory,
    };
    const session = new ThreadSession(settings, {
      orders: (order) => orders.push(order),
      left: left.resolve,
      welcomed: () => assert.fail("there is no server"),
      warn: () => undefined,
    });
    session.start();
    const error = (await left.promise) as Error & { code?: string };
    assert.equal(error.code, "INTERNAL");
    assert.match(error.message, /the connection's thread failed/);
    assert.deepEqual(
      orders.map(({ drain, abandon }) => [drain, abandon]),
      [[true, true]],
    );
  });
});

async function welcomed(
  gateway: TinyGateway,
  message: Omit<Parameters<TinyStream["send"]>[0], "$typeName"> = {},
): Promise<TinyStream> {
  const stream = await gateway.stream();
  await stream.next(hello);
  stream.send({ welcome: { heartbeatIntervalMs: 1_000 }, ...message });
  return stream;
}
