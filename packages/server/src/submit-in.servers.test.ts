import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { type SqlTransaction, submitIn, submitManyIn } from "@mainspring/sdk/sql";
import { drizzle } from "drizzle-orm/node-postgres";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { firstExecutionId } from "./domain/ids.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";

const echo = task({ name: "greet", run: ({ name }: { name: string }) => `hello ${name}` });

/** Runs work in a transaction of a library, which commits unless the work throws. */
type Within = (work: (tx: SqlTransaction) => Promise<void>) => Promise<void>;

describe("submitIn", () => {
  let postgres: TestPostgres;
  let node: RunningNode;
  let client: Client;
  let worker: Worker;
  let pool: pg.Pool;
  before(async () => {
    postgres = await startPostgres({ version: 14 });
    node = await startLocalNode({ MAINSPRING_STORE: postgres.url });
    client = new Client({ url: node.httpUrl });
    worker = new Worker({ url: node.grpcAddress, tasks: [echo], warn: () => undefined });
    await worker.start();
    pool = new pg.Pool(postgres.connection);
    await pool.query("CREATE TABLE orders (id text PRIMARY KEY)");
  });
  after(async () => {
    await pool?.end();
    await worker?.stop();
    await node?.stop();
    await postgres?.stop();
  });

  const libraries: Record<string, Within> = {
    pg: async (work) => {
      const tx = await pool.connect();
      try {
        await tx.query("BEGIN");
        await work(tx);
        await tx.query("COMMIT");
      } catch (error) {
        await tx.query("ROLLBACK");
        throw error;
      } finally {
        tx.release();
      }
    },
    Drizzle: (work) => drizzle(pool).transaction((tx) => work(tx)),
    Kysely: (work) =>
      new Kysely<Record<string, never>>({ dialect: new PostgresDialect({ pool }) }).transaction().execute(work),
  };

  for (const [name, within] of Object.entries(libraries)) {
    it(`submits typed jobs in a transaction of ${name}`, async () => {
      const ids: string[] = [];
      await within(async (tx) => {
        ids.push(
          await submitIn(tx, echo.job({ name: `O'Neil \\ "${name}" ${"$1"} ☂` }), { idempotencyKey: `${name}-1` }),
        );
        ids.push(...(await submitManyIn(tx, [echo.job({ name: "a" }), echo.job({ name: "b" })])));
        const keys = { idempotencyKeys: [null, `${name}-2`] };
        ids.push(...(await submitManyIn(tx, [echo.job({ name: "c" }), echo.job({ name: "d" })], keys)));
      });
      const results = await Promise.all(ids.map(async (id) => (await done(id)).result));
      assert.deepEqual(
        results,
        [`O'Neil \\ "${name}" $1 ☂`, "a", "b", "c", "d"].map((who) => `hello ${who}`),
      );
      assert.equal((await client.requests.get(ids[4] as string)).idempotencyKey, `${name}-2`);
    });

    it(`leaves nothing of a transaction of ${name} that is rolled back`, async () => {
      let id = "";
      const work = within(async (tx) => {
        id = await submitIn(tx, echo.job({ name: "nobody" }));
        throw new Error("the order is not valid");
      });
      await assert.rejects(work, /the order is not valid/);
      assert.match(id, /^[0-9a-f-]{36}$/);
      const { rows } = await pool.query("SELECT FROM mainspring.job_requests WHERE id = $1", [id]);
      assert.deepEqual(rows, []);
    });

    it(`gives the error of ${name} for a job that is too large`, async () => {
      const work = within(async (tx) => void (await submitIn(tx, echo.job({ name: "x".repeat(1_200_000) }))));
      await assert.rejects(work, (error: Error) => /at most 1179648/.test(`${error} ${error.cause}`));
    });
  }

  it("tells of a refused request", async () => {
    const id = await submitIn(pool, { target: { handler: "greet" }, priority: 11 as never });
    await until(async () => (await client.requests.get(id).catch(() => null))?.state === "REFUSED");
    const listed: string[] = [];
    for await (const { requestId, problem } of client.requests.list({ state: "REFUSED" }))
      listed.push(`${requestId} ${problem?.errors?.[0]?.field}`);
    assert.deepEqual(listed, [`${id} priority`]);
  });

  it("refuses a transaction of an unknown library", async () => {
    await assert.rejects(submitIn({} as SqlTransaction, echo.job({ name: "a" })), /pg, Drizzle, Prisma or Kysely/);
  });

  const done = async (id: string) => {
    await until(async () => (await client.requests.get(id)).state !== "ACCEPTED");
    return await client.waitForExecution<string>(firstExecutionId(id));
  };
});
