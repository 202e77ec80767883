import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { WorkflowFailed } from "@mainspring/sdk";
import { createLog, type EmbeddedPostgres, startEmbedded, systemRuntime } from "@mainspring/server/testing";
import { simulate } from "@mainspring/testkit";
import pg from "pg";
import { etl, SCHEMA } from "./etl.ts";

const DAY = "2026-03-01";
let folder: string;
let postgres: EmbeddedPostgres;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "mainspring-etl-"));
  postgres = await startEmbedded({
    dataDir: join(folder, "data"),
    runtime: systemRuntime(),
    log: createLog("silent"),
  });
});
after(async () => {
  await postgres.stop();
  await rm(folder, { recursive: true });
});

async function asked(text: string): Promise<unknown[][]> {
  const client = new pg.Client(postgres.connection);
  await client.connect();
  try {
    return (await client.query({ text, rowMode: "array" })).rows as unknown[][];
  } finally {
    await client.end();
  }
}

/** Empty tables, an HTTP server with files, which refuses as many requests as the test says, and the workflow. */
async function stage(t: TestContext) {
  await asked(`DROP TABLE IF EXISTS orders, customers`);
  await asked(SCHEMA);
  const files: Record<string, string> = {
    customers: "1,Ada\n2,Bob\n3,Eve\n",
    orders: Array.from({ length: 2_500 }, (_, order) => `${order},${(order % 3) + 1},${order * 10}\n`).join(""),
  };
  const requests = { refused: 0, answered: 0 };
  const server = createServer((request, response) => {
    const table = /^\/2026-03-01\/(.*)\.csv$/.exec(request.url ?? "")?.[1] ?? "";
    response.setHeader("connection", "close");
    if (requests.refused-- > 0) response.writeHead(503).end();
    else if (files[table] === undefined) response.writeHead(404).end();
    else {
      requests.answered++;
      response.end(files[table]);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const load = etl({ database: postgres.connection, folder: join(folder, "files") });
  const m = await simulate({ workflows: [load] });
  t.after(() => m.stop());
  const input = { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, day: DAY };
  return { m, load, files, requests, input };
}

const SUMS = "SELECT count(*)::int, sum(cents)::int, count(DISTINCT customer_id)::int FROM orders";

test("files are fetched, cleaned and loaded, and a second run changes nothing", async (t) => {
  const { m, load, files, input } = await stage(t);
  files["orders"] += "7,1,more\n,,\n";
  for (let run = 0; run < 2; run++) {
    assert.deepEqual(await (await load.submit(m.client, input)).result(), {
      loaded: { customers: 3, orders: 2_500 },
      wrong: { customers: 0, orders: 2 },
    });
    assert.deepEqual(await asked(SUMS), [[2_500, 31_237_500, 3]]);
  }
});

test("a key that comes again has its newest values", async (t) => {
  const { m, load, files, input } = await stage(t);
  await (await load.submit(m.client, input)).result();
  files["customers"] = "1,Ada\n2,Robert\n2,Rob\n";
  await (await load.submit(m.client, input)).result();
  assert.deepEqual(await asked("SELECT id::int, name FROM customers ORDER BY id"), [
    [1, "Ada"],
    [2, "Rob"],
    [3, "Eve"],
  ]);
});

test("a server that does not answer is asked again", async (t) => {
  const { m, load, requests, input } = await stage(t);
  requests.refused = 4;
  await (await load.submit(m.client, input)).result();
  assert.equal(requests.answered, 2);
});

test("nothing of a file is loaded if one of its rows cannot be, and the retry of the run loads it alone", async (t) => {
  const { m, load, files, requests, input } = await stage(t);
  const customers = files["customers"] ?? "";
  files["orders"] += "2500,4,5\n";
  const run = await load.submit(m.client, input);
  await assert.rejects(run.result(), (error) => {
    return error instanceof WorkflowFailed && error.node === "load-orders" && /foreign key/.test(error.message);
  });
  assert.deepEqual(await asked(SUMS), [[0, null, 0]]);

  files["customers"] = `${customers}4,Dan\n`;
  const retried = await run.retry({ from: ["download-customers"] });
  assert.deepEqual((await retried.result()).loaded, { customers: 4, orders: 2_501 });
  assert.equal(requests.answered, 3);
});

test("a file that is missing, or that is something else, ends the run at once", async (t) => {
  const { m, load, files, input } = await stage(t);
  files["orders"] = "<html>\n<body>\nSorry\n";
  const wrong = await load.submit(m.client, input);
  await assert.rejects(wrong.result(), /node transform-orders is DEAD: 3 of 3 lines of .*orders\.csv are wrong$/);
  assert.equal((await m.states(wrong))["load-orders"], "SKIPPED");
  const missing = await load.submit(m.client, { ...input, day: "2026-03-02" });
  await assert.rejects(missing.result(), /is DEAD: there is no http.*\/2026-03-02\/(customers|orders)\.csv$/);
  assert.ok(m.failures.every(({ attempt }) => attempt === 1));
});
