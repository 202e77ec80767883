import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { after, before, describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Client } from "@mainspring/sdk";
import { LongCommand } from "./testing/command.ts";
import { startServer, type TestServer } from "./testing/server.ts";

const WORKER = fileURLToPath(new URL("../../../examples/csv-import-worker.ts", import.meta.url));
const ROWS = 50_000;

describe("the example of an import", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  /** A table behind HTTP that keeps rows by number. It does not answer the batch of number `holdAt`, and says when that has come. */
  async function startTable(t: TestContext, holdAt: number) {
    const rows = new Map<number, string[]>();
    const firsts: number[] = [];
    const held = Promise.withResolvers<void>();
    const table = createServer(async (request, response) => {
      const first = Number(request.url?.split("/").at(-1));
      for (const [index, row] of ((await json(request)) as string[][]).entries()) rows.set(first + index, row);
      if (firsts.push(first) === holdAt) return held.resolve();
      response.end();
    });
    table.listen(0, "127.0.0.1");
    await once(table, "listening");
    t.after(() => {
      table.close();
      table.closeAllConnections();
    });
    return { rows, firsts, held: held.promise, url: `http://127.0.0.1:${(table.address() as AddressInfo).port}/rows` };
  }

  it("goes on at its checkpoint when its worker is killed in the middle of the file", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "mainspring-import-"));
    t.after(() => rm(folder, { recursive: true }));
    const file = join(folder, "large.csv");
    await writeFile(file, Array.from({ length: ROWS }, (_, row) => `${row},Bücher ${row},${row * 3}\n`).join(""));
    const table = await startTable(t, 10);
    const startWorker = () => {
      const worker = new LongCommand([], { ...server.clientEnv, TABLE_URL: table.url }, WORKER);
      t.after(() => worker.signal("SIGKILL"));
      return worker;
    };
    const client = new Client({ url: server.httpUrl });

    const first = startWorker();
    const { executionId } = await client.submit({
      target: { handler: "import-csv", pool: "imports" },
      payload: { file },
    });
    // The tenth batch is in the table, its checkpoint is not.
    await table.held;
    first.signal("SIGKILL");
    await first.done;
    startWorker();
    const execution = await client.waitForExecution<{ rows: number; startedAt: number }>(executionId);
    assert.deepEqual([execution.state, execution.failures, execution.result?.rows], ["SUCCEEDED", 0, ROWS]);
    assert.equal(execution.attempts[0]?.state, "WORKER_LOST");

    const repeated = table.firsts[9] ?? 0;
    assert.equal(
      execution.result?.startedAt,
      repeated,
      "the second attempt began with the batch whose checkpoint was lost",
    );
    assert.equal(table.firsts[10], repeated);
    assert.equal(new Set(table.firsts).size, table.firsts.length - 1, "no other batch came twice");
    assert.equal(table.rows.size, ROWS);
    for (const [number, row] of table.rows) assert.equal(row[0], String(number));
  });
});
