import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, type ExecutionEvent, task, Worker } from "@mainspring/sdk";
import { until } from "./adapters/system/until.fixture.ts";
import { startTestNode, type TestNode } from "./node.fixture.ts";

/** An operator's view of a whole server with a worker. */
describe("a node that is operated", () => {
  let node: TestNode;
  let client: Client;
  before(async () => {
    node = await startTestNode();
    client = node.client;
  });
  after(() => node.stop());

  it("tells what happens to an execution while it happens, and goes on where a reader left off", async () => {
    const finish = Promise.withResolvers<string>();
    const chatty = task({
      name: "chatty",
      run: (_: null, ctx) => {
        ctx.log("begun");
        ctx.progress(0.5, "half way");
        return finish.promise;
      },
    });
    const worker = new Worker({ url: node.grpcAddress, tasks: [chatty] });
    await worker.start();
    const { executionId } = await chatty.submit(client, null);
    const seen: ExecutionEvent[] = [];
    for await (const event of client.follow(executionId)) {
      seen.push(event);
      if (event.type === "progress") break;
    }
    const running = await client.getExecution(executionId);
    assert.deepEqual(
      [running.state, running.progress?.fraction, running.progress?.message],
      ["RUNNING", 0.5, "half way"],
    );
    assert.deepEqual(
      seen.filter(({ type }) => type !== "state").map((event) => (event.type === "log" ? event.line : event.type)),
      ["begun", "progress"],
    );
    finish.resolve("done");
    const rest: ExecutionEvent[] = [];
    for await (const event of client.follow(executionId, { lastEventId: seen.at(-1)?.id ?? "" })) rest.push(event);
    const last = rest.at(-1);
    assert.ok(last?.type === "state");
    assert.equal(last.execution.state, "SUCCEEDED");
    assert.ok(
      rest.every(({ type }) => type === "state"),
      "what was heard is not told again",
    );
    const over: ExecutionEvent[] = [];
    for await (const event of client.follow(executionId, { lastEventId: last.id })) over.push(event);
    assert.deepEqual(over, []);
    await worker.stop();
  });

  it("explains who waits for what, and starts nothing of a paused pool", async () => {
    await client.pools.pause("batch");
    const { executionId } = await client.submit({ target: { handler: "nobody", pool: "batch", requires: ["gpu"] } });
    const { reasons } = await client.explain(executionId);
    assert.deepEqual(
      reasons.map(({ reason }) => reason),
      ["POOL_PAUSED", "NO_WORKER_FOR_HANDLER", "QUEUED"],
    );
    assert.equal((await client.pools.resume("batch")).paused, false);
    assert.equal((await client.pools.get("batch")).paused, false);
    await client.cancelExecution(executionId);
  });

  it("goes by a pause and by its end as soon as they are answered", async () => {
    for (let round = 0; round < 50; round++) {
      assert.deepEqual((await client.pools.pause("default")).unconfirmedBy, []);
      const { executionId } = await client.submit({ target: { handler: "echo" } });
      const paused = await client.explain(executionId);
      assert.equal(paused.reasons[0]?.reason, "POOL_PAUSED", `round ${round}`);
      const { state, attempts } = await client.getExecution(executionId);
      assert.deepEqual([state, attempts], ["PENDING", []], `round ${round}`);
      assert.deepEqual((await client.pools.resume("default")).unconfirmedBy, []);
      const resumed = await client.explain(executionId);
      assert.ok(!resumed.reasons.some(({ reason }) => reason === "POOL_PAUSED"), `round ${round}`);
      assert.equal((await client.getExecution(executionId, { waitSec: 30 })).state, "SUCCEEDED");
    }
  });

  it("starts no more of a pool than it allows, and says what is used of that", async () => {
    await client.pools.set("narrow", { maxRunning: 1 });
    // The coordinator of the pool knows its use once every owner has declared its attempts.
    await until(async () => (await client.pools.get("narrow")).limitUse);
    const ends: (() => void)[] = [];
    const narrow = task({ name: "narrow", run: () => new Promise<void>((resolve) => ends.push(resolve)) });
    const worker = new Worker({ url: node.grpcAddress, pool: "narrow", tasks: [narrow], slots: 2 });
    await worker.start();
    await narrow.submit(client, undefined as never, { pool: "narrow" });
    await until(() => ends.length > 0);
    const second = await narrow.submit(client, undefined as never, { pool: "narrow" });
    for (;;) {
      const [reason] = (await client.explain(second.executionId)).reasons;
      if (reason?.reason === "POOL_AT_LIMIT") {
        assert.deepEqual([reason["limit"], reason["running"]], [1, 1]);
        break;
      }
    }
    assert.equal((await client.pools.get("narrow")).limitUse?.taken, 1);
    assert.equal(ends.length, 1);
    ends[0]?.();
    await until(() => ends.length > 1);
    ends[1]?.();
    assert.equal((await client.waitForExecution(second.executionId)).state, "SUCCEEDED");
    await worker.stop();
  });

  it("shows a handler that ignores the end of its attempt, and what waits behind it", async () => {
    const running = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const deaf = task({
      name: "deaf",
      run: () => {
        running.resolve();
        return finish.promise;
      },
    });
    const pool = "deaf";
    const worker = new Worker({ url: node.grpcAddress, pool, tasks: [deaf], slots: 1, prefetch: 1, warn: () => {} });
    await worker.start();
    const first = await deaf.submit(client, undefined as never, { pool, cancelGraceSec: 1 });
    await running.promise;
    const second = await deaf.submit(client, undefined as never, { pool });
    await until(async () => (await second.get()).state === "SCHEDULED");
    await first.cancel();
    assert.equal((await client.waitForExecution(first.executionId)).state, "CANCELLED");
    const [listed] = (await client.workers()).filter((one) => one.pool === pool);
    assert.deepEqual([listed?.running, listed?.free, listed?.stuck], [0, 0, 1]);
    const { executions, executionsTotal } = await client.getWorker(listed?.workerId ?? "");
    assert.deepEqual(
      executions?.map(({ executionId, handler, state }) => [executionId, handler, state]),
      [
        [first.executionId, "deaf", "STUCK"],
        [second.executionId, "deaf", "WAITING"],
      ],
    );
    assert.equal(executionsTotal, 2);
    // The owner learns of slots with the next full sync.
    const stuckOf = async () => (await client.explain(second.executionId)).reasons[1]?.["stuck"];
    await until(async () => (await stuckOf()) === 1);
    const { reasons } = await client.explain(second.executionId);
    assert.deepEqual(
      reasons.map(({ reason }) => reason),
      ["ASSIGNED", "WORKER_HAS_NO_FREE_SLOT"],
    );
    const figures = await (await fetch(`${node.httpUrl}/metrics`)).text();
    assert.match(figures, /^mainspring_worker_stuck_slots\{pool="deaf"\} 1$/m);
    assert.match(figures, /^mainspring_workers_without_authority 0$/m);
    finish.resolve();
    assert.equal((await client.waitForExecution(second.executionId)).state, "SUCCEEDED");
    await worker.stop();
    await assert.rejects(client.getWorker("worker-nobody-knows"), { code: "NOT_FOUND" });
  });

  it("drains a worker, which finishes what it has and ends", async () => {
    const running = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<string>();
    const slow = task({
      name: "slow",
      run: () => {
        running.resolve();
        return finish.promise;
      },
    });
    const worker = new Worker({ url: node.grpcAddress, tasks: [slow], slots: 1, prefetch: 5 });
    await worker.start();
    const first = await slow.submit(client, undefined as never);
    await running.promise;
    const second = await slow.submit(client, undefined as never);
    // The execution waits at the worker, behind the first one.
    await until(async () => (await second.get()).state === "SCHEDULED");
    const [known] = (await client.workers()).filter(({ handlers }) => handlers.includes("slow"));
    assert.ok(known);
    assert.equal((await client.drainWorker(known.workerId)).state, "DRAINING");
    // The worker has received the order and has handed back what it had not started.
    await until(async () => (await second.get()).state === "PENDING");
    finish.resolve("finished");
    await worker.closed;
    assert.equal(await first.result(), "finished");
    assert.equal((await second.get()).state, "PENDING", "it was handed back, not lost");
    await assert.rejects(client.drainWorker("worker-nobody-knows"), { code: "NOT_FOUND" });
    await second.cancel();
  });

  it("replays what has died, by id and by filter, and counts it all", async () => {
    let isBroken = true;
    const flaky = task({
      name: "flaky",
      retry: { maxAttempts: 1 },
      run: (n: number) => {
        if (isBroken) throw new Error("still broken");
        return n;
      },
    });
    const worker = new Worker({ url: node.grpcAddress, tasks: [flaky] });
    await worker.start();
    const handles = await Promise.all([1, 2, 3].map((n) => flaky.submit(client, n)));
    for (const handle of handles) await assert.rejects(handle.result());
    const stats = await client.stats();
    assert.deepEqual([stats.executions.deadLetters, stats.shards.owned, stats.nodes[0]?.roles.length], [3, 64, 3]);
    assert.equal(stats.finished.find(({ state }) => state === "DEAD")?.count, 3);
    assert.notEqual(stats.lateness.p99Ms, null);
    isBroken = false;
    const [one] = await client.deadLetters.replay([handles[0]?.executionId ?? ""]);
    assert.ok(one?.newExecutionId);
    const again = await client.waitForExecution(one.newExecutionId);
    assert.deepEqual(
      [again.state, again.result, again.trigger, again.retryOf],
      [...["SUCCEEDED", 1, "RETRY", handles[0]?.executionId]],
    );
    const { runId } = await client.deadLetters.replayAll({ handler: "flaky" });
    await until(async () => (await client.deadLetters.run(runId)).state !== "RUNNING");
    assert.equal((await client.deadLetters.run(runId)).settled, 2);
    for await (const letter of client.deadLetters.list()) assert.fail(`${letter.executionId} is still there`);
    const executions: string[] = [];
    for await (const { trigger, executionId } of client.listExecutions())
      if (trigger === "RETRY") executions.push(executionId);
    assert.equal(executions.length, 3);
    for (const id of executions) assert.equal((await client.waitForExecution(id)).state, "SUCCEEDED");
    await worker.stop();
  });
});
