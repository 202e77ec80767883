import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { Client, task, Worker } from "@mainspring/sdk";
import { freePort } from "../../../tools/services/free-port.ts";
import type { LongCommand } from "./testing/command.ts";
import { serveOn } from "./testing/server.ts";

const run = promisify(execFile);

describe("a store that was restored", () => {
  let folder: string;
  let server: LongCommand;
  let addresses: { http: string; grpc: string };
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-restored-"));
    addresses = { http: `127.0.0.1:${await freePort()}`, grpc: `127.0.0.1:${await freePort()}` };
    await start();
  });
  after(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });

  const data = () => join(folder, "data");
  const copy = () => join(folder, "copy");
  const start = async () => {
    server = serveOn(data(), { MAINSPRING_HTTP: addresses.http, MAINSPRING_GRPC: addresses.grpc });
    await server.says(/workers +\S+/);
  };
  const stop = async () => {
    if (!server.hasEnded) server.signal("SIGTERM");
    await server.done;
  };
  const restore = async () => {
    await rm(data(), { recursive: true });
    await rename(copy(), data());
  };

  it("does not keep the workers that lived on from its work", async (t) => {
    const client = new Client({ url: `http://${addresses.http}` });
    const runs = new Map<string, number>();
    const opened = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const note = task({
      name: "note",
      run: async (isLong: boolean, { executionId }) => {
        runs.set(executionId, (runs.get(executionId) ?? 0) + 1);
        if (!isLong) return;
        begun.resolve();
        await opened.promise;
      },
    });
    const submit = async (pool: string, isLong = false) => {
      const job = { target: { pool, handler: "note" }, payload: isLong, delayMs: 100 };
      return (await client.submit(job)).executionId ?? "";
    };
    const stateOf = async (id: string) => (await client.getExecution(id, { waitSec: 30 })).state;
    const workerOf = async (pool: string, prefetch: number) => {
      const worker = new Worker({
        tasks: [note],
        url: addresses.grpc,
        pool,
        slots: 1,
        prefetch,
        warn: () => undefined,
      });
      t.after(() => worker.stop({ timeoutMs: 0 }));
      await worker.start();
    };

    // Without a worker, the copy has these jobs as they were submitted.
    const [single, fetched, unheard] = [
      await submit("single"),
      await submit("prefetching"),
      await submit("unheard", true),
    ];
    await stop();
    await run("cp", ["-a", data(), copy()]);
    await start();
    await Promise.all([workerOf("single", 0), workerOf("prefetching", 8), workerOf("unheard", 0)]);
    assert.deepEqual(await Promise.all([single, fetched].map(stateOf)), ["SUCCEEDED", "SUCCEEDED"]);
    await begun.promise;
    // Each start raises the epochs of the shards, so the workers know higher epochs than the copy will have.
    await stop();
    await start();
    assert.equal(await stateOf(await submit("single")), "SUCCEEDED");

    await stop();
    // No server acknowledges the result of this handler.
    opened.resolve();
    await restore();
    await start();

    const others = await Promise.all(
      ["single", "prefetching", "unheard"].flatMap((pool) => [submit(pool), submit(pool)]),
    );
    const states = await Promise.all([single, fetched, unheard, ...others].map(stateOf));
    assert.deepEqual(new Set(states), new Set(["SUCCEEDED"]));
    assert.deepEqual([runs.get(single), runs.get(fetched)], [2, 2]);
    assert.deepEqual(new Set(others.map((id) => runs.get(id))), new Set([1]));
  });
});
