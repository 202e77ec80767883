import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, MainspringError, RetryAtError, TerminalError, task, Worker } from "@mainspring/sdk";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { startLocalNode, startTestNode, type TestNode } from "./node.fixture.ts";

/** A whole node: HTTP, the real embedded store, gRPC, and a worker with its thread. */
describe("a node", () => {
  let node: TestNode;
  let client: Client;
  before(async () => {
    node = await startTestNode({ MAINSPRING_HTTP_ALLOW_PRIVATE: "127.0.0.0/8", MAINSPRING_EXEC: "on" });
    client = node.client;
  });
  after(() => node.stop());

  it("runs a job on its built-in worker and gives its result", async () => {
    const { executionId } = await client.submit({ target: { handler: "echo" }, payload: { hello: ["world", 1] } });
    const execution = await client.getExecution(executionId, { waitSec: 30 });
    assert.equal(execution.state, "SUCCEEDED");
    assert.deepEqual(execution.result, { hello: ["world", 1] });
    assert.equal(execution.attempts.length, 1);
  });

  it("sends requests and runs programs for jobs, as far as its configuration allows", async () => {
    const retryPolicy = { maxAttempts: 1 };
    const run = async (handler: string, payload: object) => {
      const { executionId } = await client.submit({ target: { handler }, payload, retryPolicy });
      return client.getExecution(executionId, { waitSec: 30 });
    };
    const { result } = await run("http", { url: `${node.httpUrl}/healthz` });
    assert.equal((result as { status: number }).status, 200);
    const refused = await run("http", { url: node.httpUrl.replace("127.0.0.1", "[::1]") });
    assert.deepEqual([refused.state, refused.reason, refused.error?.name], ["DEAD", "NOT_RETRYABLE", "AddressRefused"]);
    const { result: printed } = await run("exec", { argv: ["echo", "hello"] });
    assert.equal((printed as { stdout: string }).stdout, "hello\n");
    const failed = await run("exec", { argv: ["sh", "-c", "exit 3"] });
    assert.deepEqual([failed.state, failed.error?.message], ["DEAD", "sh exited with code 3"]);
  });

  it("stops a program whose execution is cancelled, and says how it ended", async () => {
    const { executionId } = await client.submit({ target: { handler: "exec" }, payload: { argv: ["sleep", "3600"] } });
    const stateOf = async () => (await client.getExecution(executionId)).state;
    await until(async () => (await stateOf()) === "RUNNING");
    await client.cancelExecution(executionId);
    const { state, attempts } = await client.getExecution(executionId, { waitSec: 30 });
    const message = "sleep was ended by SIGTERM after it was told to stop";
    assert.deepEqual([state, attempts[0]?.error?.message], ["CANCELLED", message]);
  });

  it("runs tasks of a worker of one's own, by capability, and passes results and errors back", async () => {
    const seen: number[] = [];
    const flaky = task({
      name: "flaky",
      retry: { maxAttempts: 3, backoff: "FIXED", initialDelayMs: 10, jitter: false },
      run: (payload: { until: number }, ctx) => {
        seen.push(ctx.attempt);
        if (ctx.attempt < payload.until) throw new Error("not yet");
        return { took: ctx.attempt, fence: ctx.fence };
      },
    });
    const hopeless = task({
      name: "hopeless",
      run: () => {
        throw new TerminalError("never");
      },
    });
    const later = task({
      name: "later",
      run: (_: null, ctx) => {
        if (ctx.attempt === 1) throw new RetryAtError(new Date(systemRuntime().now() + 50), new Error("soon"));
        return ctx.attempt;
      },
    });
    const worker = new Worker({ url: node.grpcAddress, capabilities: ["gpu"], tasks: [flaky, hopeless, later] });
    await worker.start();
    const handle = await flaky.submit(client, { until: 3 }, { requires: ["gpu"] });
    assert.deepEqual(await handle.result(), { took: 3, fence: `${handle.executionId}:3` });
    assert.deepEqual(seen, [1, 2, 3]);
    const dead = await hopeless.submit(client, undefined as never);
    await assert.rejects(dead.result());
    assert.equal((await dead.get()).state, "DEAD");
    assert.equal(await (await later.submit(client, null)).result(), 2);
    await worker.stop();
  });

  it("runs tasks of the program that it lives in, by workers that come and go", async () => {
    const greet = task({ name: "greet", run: (name: string) => `Hello, ${name}!` });
    const greeted = async (name: string) => {
      const { executionId } = await greet.submit(client, name);
      return client.getExecution<string>(executionId, { waitSec: 30 });
    };
    for (const name of ["inner-1", "inner-2"]) {
      const worker = node.attachWorker({ name, tasks: [greet] });
      await worker.start();
      const { result, assignedWorker } = await greeted(name);
      assert.equal(result, `Hello, ${name}!`);
      assert.ok(assignedWorker?.startsWith("builtin-"), "it never outlives its server, and the server knows that");
      await worker.stop();
    }
  });

  it("cancels a running job, and says so", async () => {
    const running = Promise.withResolvers<void>();
    const patient = task({
      name: "patient",
      run: (_: null, { signal }) => {
        running.resolve();
        return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    });
    const worker = new Worker({ url: node.grpcAddress, tasks: [patient] });
    await worker.start();
    const handle = await patient.submit(client, null);
    await running.promise;
    await handle.cancel();
    const ended = await client.getExecution(handle.executionId, { waitSec: 30 });
    assert.equal(ended.state, "CANCELLED");
    await worker.stop();
  });

  it("runs what is due later when it is due, and skips what could not start in time", async () => {
    const { executionId } = await client.submit({ target: { handler: "echo" }, delayMs: 300 });
    const execution = await client.getExecution(executionId, { waitSec: 30 });
    assert.equal(execution.state, "SUCCEEDED");
    assert.ok((execution.latenessMs ?? -1) >= 0, "never early");
    const startBefore = new Date(systemRuntime().now() + 200).toISOString();
    const nobody = await client.submit({ target: { handler: "nobody-has-it" }, startBefore });
    const skipped = await client.getExecution(nobody.executionId, { waitSec: 30 });
    assert.deepEqual([skipped.state, skipped.reason], ["SKIPPED", "START_BEFORE_PASSED"]);
  });

  it("keeps at most as many of a concurrency key running as allowed", async () => {
    let running = 0;
    let most = 0;
    const gate = task({
      name: "gate",
      run: async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
      },
    });
    const worker = new Worker({ url: node.grpcAddress, slots: 10, tasks: [gate] });
    await worker.start();
    const jobs = Array.from({ length: 30 }, () => ({
      target: { handler: "gate" },
      concurrencyKey: "acme",
      concurrencyLimit: 2,
    }));
    const items = await client.submitBatch(jobs);
    for (const item of items) {
      assert.ok("executionId" in item);
      assert.equal((await client.getExecution(item.executionId, { waitSec: 30 })).state, "SUCCEEDED");
    }
    assert.ok(most <= 2, `${most} ran at once`);
    await worker.stop();
  });

  it("tells of all that in its figures", async () => {
    const figures = await (await fetch(`${node.httpUrl}/metrics`)).text();
    for (const pattern of [
      /^mainspring_lateness_seconds_count\{pool="default"\} \d{2}$/m,
      /^mainspring_run_seconds_count\{pool="default"\} \d{2}$/m,
      /^mainspring_dead_letters_total\{pool="default"\} 3$/m,
      /^mainspring_executions_finished_total\{state="CANCELLED"\} 2$/m,
      /^mainspring_attempts_retried_total 3$/m,
      /^mainspring_owned_shards 64$/m,
      /^mainspring_shard_epoch\{shard="63"\} \d{16}$/m,
      /^mainspring_shard_takeovers_total\{shard="0"\} 1$/m,
      /^mainspring_shard_ready\{shard="5"\} 0$/m,
      /^mainspring_cluster_nodes 1$/m,
      /^mainspring_lease_renewals_total\{outcome="OK"\} [1-9]\d*$/m,
      /^mainspring_draining 0$/m,
      /^mainspring_mesh_connections 0$/m,
      /^mainspring_workers_connected [1-9]$/m,
      /^mainspring_workers_lost_total 0$/m,
      /^mainspring_store_connections_max\{purpose="submit"\} 3$/m,
      /^mainspring_store_waiting\{purpose="commit"\} 0$/m,
      /^nodejs_eventloop_lag_p99_seconds \d/m,
    ]) {
      assert.match(figures, pattern);
    }
  });

  it("keeps a worker's running job over its own restart, and everything that was", async () => {
    const { executionId: old } = await client.submit({ target: { handler: "echo" }, payload: 7 });
    await client.getExecution(old, { waitSec: 30 });
    const running = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<string>();
    const long = task({
      name: "long",
      run: () => {
        running.resolve();
        return finish.promise;
      },
    });
    const worker = new Worker({ url: node.grpcAddress, tasks: [long] });
    await worker.start();
    const handle = await long.submit(client, undefined as never);
    await running.promise;
    node = await node.restart({ MAINSPRING_GRPC: node.grpcAddress });
    client = node.client;
    finish.resolve("carried on");
    const ended = await client.getExecution(handle.executionId, { waitSec: 30 });
    assert.deepEqual([ended.state, ended.result, ended.attempt], ["SUCCEEDED", "carried on", 1]);
    assert.equal((await client.getExecution(old)).result, 7);
    await worker.stop();
  });

  it("names a port that is taken, and an unknown field", async () => {
    const taken = node.httpUrl.replace("http://", "");
    const message = new RegExp(`${taken} is taken.*MAINSPRING_HTTP`);
    await assert.rejects(startTestNode({ MAINSPRING_HTTP: taken }), message);
    await assert.rejects(
      client.submit({ target: { handler: "echo" }, scheduel: "* * * * *" } as never),
      MainspringError,
    );
  });

  it("asks clients and workers for its key, where it has one", async () => {
    node = await node.restart({ MAINSPRING_API_KEY: "a-key-of-some-length" });
    const tasks = [task({ name: "x", run: () => 1 })];
    await assert.rejects(node.client.submit({ target: { handler: "x" } }), { code: "UNAUTHENTICATED" });
    await assert.rejects(new Worker({ url: node.grpcAddress, tasks, apiKey: "a-wrong-key" }).start(), {
      code: "WORKER_REFUSED",
    });
    client = new Client({ url: node.httpUrl, apiKey: "a-key-of-some-length" });
    const worker = new Worker({ url: node.grpcAddress, tasks, apiKey: "a-key-of-some-length" });
    await worker.start();
    const { executionId } = await client.submit({ target: { handler: "x" } });
    assert.equal((await client.getExecution(executionId, { waitSec: 30 })).result, 1);
    await worker.stop();
  });

  it("refuses a data folder that another server uses", async () => {
    await assert.rejects(startLocalNode({ MAINSPRING_DATA_DIR: node.dataDir }), /in use/);
  });
});
