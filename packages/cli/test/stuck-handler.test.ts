import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { Client, task, Worker, type WorkerInfo } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import { startServer, type TestServer } from "./testing/server.ts";

const JOBS = 20;
/** Limit of the wait in seconds; work behind a stuck handler would wait for ever. */
const SOON_SEC = 50;

interface Capacity {
  pool: string;
  prefetch?: number;
  slots?: number;
}

describe("a handler that outlives its attempt", { concurrency: true }, () => {
  let server: TestServer;
  let client: Client;
  before(async () => {
    server = await startServer();
    client = new Client({ url: server.httpUrl });
  });
  after(() => server.stop());

  const startWorker = async (
    t: TestContext,
    name: string,
    { pool, prefetch = 0, slots = 1 }: Capacity,
    run: () => unknown,
  ) => {
    const quick = task({ name: "quick", run: () => name });
    const endless = task({ name: "endless", run });
    const at = { url: server.grpcAddress, pool, slots, prefetch };
    const worker = new Worker({ tasks: [quick, endless], name, ...at, warn: () => undefined });
    t.after(() => worker.stop({ timeoutMs: 0 }));
    await worker.start();
  };
  const submit = async (pool: string, handler: string, limits = {}) =>
    (await client.submit({ target: { pool, handler }, retryPolicy: { maxAttempts: 1 }, cancelGraceSec: 0, ...limits }))
      .executionId ?? "";
  const final = (id: string) => client.getExecution(id, { waitSec: SOON_SEC });
  const shown = async (pool: string, name: string, isSo: (worker: WorkerInfo) => boolean) => {
    for (;;) {
      const worker = (await client.workers()).find((one) => one.pool === pool && one.name === name);
      if (worker !== undefined && isSo(worker)) return;
    }
  };
  const isStuck = ({ state, stuck, free }: WorkerInfo) => state === "ALIVE" && stuck === 1 && free === 0;
  /** @returns names of the workers that ran quick jobs */
  const runnersOf = async (pool: string) => {
    const ids = await Promise.all(Array.from({ length: JOBS }, () => submit(pool, "quick")));
    const ended = await Promise.all(ids.map(final));
    assert.deepEqual(new Set(ended.map(({ state }) => state)), new Set(["SUCCEEDED"]));
    return new Set(ended.map(({ result }) => result));
  };
  /** A worker whose only handler has timed out and runs on until it is released. */
  const stuckWorker = async (t: TestContext, options: Capacity) => {
    const { promise, resolve: release } = Promise.withResolvers<void>();
    t.after(() => release());
    await startWorker(t, "a", options, () => promise);
    const id = await submit(options.pool, "endless", { timeoutSec: 1 });
    assert.equal((await final(id)).state, "DEAD");
    await shown(options.pool, "a", isStuck);
    return release;
  };
  const addFree = (t: TestContext, pool: string) => startWorker(t, "b", { pool, slots: JOBS }, () => null);

  for (const prefetch of [0, 3]) {
    it(`takes none of what another worker can run, with prefetch ${prefetch}, and gives its slot back at its end`, async (t) => {
      const pool = `timeout-${prefetch}`;
      const release = await stuckWorker(t, { pool, prefetch });
      await addFree(t, pool);
      assert.deepEqual(await runnersOf(pool), new Set(["b"]));
      release();
      await shown(pool, "a", ({ stuck, free }) => stuck === 0 && free === 1);
    });
  }

  it("keeps its slot after a cancellation too", async (t) => {
    const begun = Promise.withResolvers<void>();
    const { promise, resolve } = Promise.withResolvers<void>();
    t.after(() => resolve());
    const pool = "cancel";
    await startWorker(t, "a", { pool, prefetch: 3 }, () => {
      begun.resolve();
      return promise;
    });
    const id = await submit(pool, "endless");
    await begun.promise;
    await client.cancelExecution(id);
    assert.equal((await final(id)).state, "CANCELLED");
    await shown(pool, "a", isStuck);
    await addFree(t, pool);
    assert.deepEqual(await runnersOf(pool), new Set(["b"]));
  });

  it("is not the only one that work leaves: what waits at a slow worker goes to one that joins", async (t) => {
    const begun = Promise.withResolvers<void>();
    const { promise, resolve } = Promise.withResolvers<void>();
    t.after(() => resolve());
    const pool = "slow";
    await startWorker(t, "a", { pool, prefetch: JOBS }, () => {
      begun.resolve();
      return promise;
    });
    await submit(pool, "endless");
    await begun.promise;
    const ids = await Promise.all(Array.from({ length: JOBS }, () => submit(pool, "quick")));
    const { workerId = "" } = (await client.workers()).find((worker) => worker.pool === pool) ?? {};
    await until(async () => (await client.getWorker(workerId)).executionsTotal === JOBS + 1);
    await addFree(t, pool);
    assert.deepEqual(new Set((await Promise.all(ids.map(final))).map(({ result }) => result)), new Set(["b"]));
  });
});
