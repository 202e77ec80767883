import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Client, MainspringError } from "@mainspring/sdk";
import pg from "pg";
import { monotonicMs } from "./clock.ts";
import { freePort } from "./environment/free-port.ts";
import { Disk } from "./environment/postgres/disk.ts";
import { Server } from "./environment/server.ts";

const PAYLOAD_BYTES = 256 * 1024;
/**
 * Time without space, in milliseconds: several times as long as the supervisor retries a PostgreSQL that does not start
 * for another reason.
 */
const FULL_MS = 12_000;

describe("a server on the embedded store whose disk is full", () => {
  let folder: string;
  let disk: Disk;
  let server: Server;
  let client: Client;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-full-"));
    disk = await Disk.open(join(folder, "data"), null);
    assert.equal(
      disk.unavailable,
      null,
      "this test mounts a small disk of its own, and needs the right to (CAP_SYS_ADMIN)",
    );
    const [httpPort, grpcPort] = [await freePort(), await freePort()];
    server = new Server({ folder, httpPort, grpcPort, env: { MAINSPRING_BUILTIN_WORKER: "on" } });
    server.start();
    await server.ready();
    client = new Client({ url: server.httpUrl, retries: 0, timeoutMs: 30_000 });
  });
  after(async () => {
    await server?.stop();
    disk.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("refuses what it cannot store, stays up, loses nothing, and goes on when there is room again", async () => {
    const accepted: string[] = [];
    const refusals: MainspringError[] = [];
    const submit = async (payload: string) => {
      const job = { target: { handler: "echo" }, payload };
      await client.submit(job).then(
        ({ executionId }) => accepted.push(executionId ?? ""),
        (error) => {
          assert.ok(error instanceof MainspringError, String(error));
          refusals.push(error);
        },
      );
    };
    for (let i = 0; i < 10; i++) await submit("before");
    assert.equal(refusals.length, 0);

    await disk.fill();
    const large = "x".repeat(PAYLOAD_BYTES);
    while (refusals.length === 0) await submit(large);
    const unready = (await (await fetch(`${server.httpUrl}/readyz`)).json()) as {
      checks: { name: string; ok: boolean }[];
    };
    assert.equal(unready.checks.find(({ name }) => name === "store")?.ok, false, "the store cannot write");
    await fillLog(join(folder, "data", "socket"));
    const endMs = monotonicMs() + FULL_MS;
    while (monotonicMs() < endMs) {
      await submit(large);
      assert.equal((await fetch(`${server.httpUrl}/healthz`)).status, 200);
    }
    const request = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"target":{"handler":"echo"}}',
    };
    const raw = await fetch(`${server.httpUrl}/v1/jobs`, request);
    assert.match(`${raw.status} ${raw.headers.get("retry-after")}`, /^503 \d+$/);
    for (const { code, problem } of refusals) {
      assert.deepEqual([code, problem?.status, problem?.type], ["UNAVAILABLE", 503, "/problems/unavailable"]);
    }

    await disk.free();
    await server.ready();
    await submit("behind");
    const ended = await Promise.all(accepted.map((id) => client.waitForExecution(id)));
    assert.deepEqual(new Set(ended.map(({ state }) => state)), new Set(["SUCCEEDED"]));
    assert.equal(ended.at(-1)?.result, "behind");
    assert.deepEqual(server.deaths, []);
  });
});

/** Fills PostgreSQL's log until its disk is full too, so that PostgreSQL ends and cannot restart. */
async function fillLog(host: string): Promise<void> {
  const own = new pg.Client({ host, port: 5432, user: "mainspring", database: "postgres" });
  own.on("error", () => undefined);
  await own.connect();
  const message = "SELECT pg_logical_emit_message(false, 'a test', repeat('x', 1000000), true)";
  // The first line that does not fit is refused; the end of a connection shows that PostgreSQL has ended.
  for (let isUp = true; isUp; ) {
    isUp = await own.query(message).then(
      () => true,
      (error) => error instanceof pg.DatabaseError && error.code === "53100",
    );
  }
  await own.end().catch(() => undefined);
}
