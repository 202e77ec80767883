import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import type { RequestBody } from "@mainspring/contract";
import { Client, task, Worker } from "@mainspring/sdk";
import pg from "pg";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { firstExecutionId } from "./domain/ids.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";

const apiKey = "the-key-of-the-two-servers";
const PROGRAM = new URL("../../cli/bin/mainspring.mjs", import.meta.url).pathname;
const SUBMIT = "SELECT mainspring.mainspring_submit($1::jsonb, $2) AS id";
const BATCH = "SELECT mainspring.mainspring_submit_batch($1::jsonb, $2) AS ids";
const NOTE = { target: { handler: "note" } };

describe("mainspring_submit, with two servers on PostgreSQL", () => {
  let postgres: TestPostgres;
  let node: RunningNode;
  let client: Client;
  let worker: Worker;
  let app: pg.Client;
  let other: ChildProcess | undefined;
  /** Number of runs of each payload. */
  const ran = new Map<unknown, number>();
  const note = task({
    name: "note",
    run: (payload: unknown) => {
      const key = JSON.stringify(payload);
      ran.set(key, (ran.get(key) ?? 0) + 1);
      return payload;
    },
  });
  const cluster = () => ({
    ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_API_KEY: apiKey },
  });

  before(async () => {
    postgres = await startPostgres({ version: 14 });
    node = await startLocalNode(cluster());
    client = new Client({ url: node.httpUrl, apiKey });
    worker = new Worker({ url: node.grpcAddress, apiKey, slots: 100, tasks: [note], warn: () => undefined });
    await worker.start();
    app = await connected();
  });
  after(async () => {
    if (other?.exitCode === null) other.kill("SIGKILL");
    await app?.end();
    await worker?.stop();
    await node?.stop();
    await postgres?.stop();
  });

  const connected = async (login: Partial<pg.ClientConfig> = {}): Promise<pg.Client> => {
    const client = new pg.Client({ ...postgres.connection, ...login });
    client.on("error", () => undefined);
    await client.connect();
    return client;
  };
  const get = async (path: string): Promise<Response> =>
    await fetch(`${node.httpUrl}${path}`, { headers: { authorization: `Bearer ${apiKey}` } });
  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${node.httpUrl}/v1/jobs`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const submit = async (job: unknown, key: string | null = null, on = app): Promise<string> =>
    (await on.query<{ id: string }>(SUBMIT, [JSON.stringify(job), key])).rows[0]?.id ?? "";
  const request = async (id: string): Promise<RequestBody | null> => {
    const response = await get(`/v1/requests/${id}`);
    return response.status === 404 ? null : ((await response.json()) as RequestBody);
  };
  /** The request once it is decided. */
  const decided = (id: string): Promise<RequestBody> =>
    until(async () => {
      const found = await request(id);
      return found === null || found.state === "ACCEPTED" ? null : found;
    });

  it("runs the job of a committed transaction, and gives it the id of its request", async () => {
    await app.query("BEGIN");
    const id = await submit({ ...NOTE, payload: { committed: 1, exact: 0.1 } });
    assert.equal(await request(id), null, "nobody sees the request before the commit");
    await app.query("COMMIT");
    const { state, jobId, executionId, problem, job, source } = await decided(id);
    assert.deepEqual(
      { state, jobId, executionId, problem, job, source },
      { state: "TAKEN_IN", jobId: id, executionId: firstExecutionId(id), problem: null, job: null, source: "SQL" },
    );
    const done = await client.waitForExecution(firstExecutionId(id));
    assert.deepEqual([done.state, done.jobId], ["SUCCEEDED", id]);
  });

  it("leaves nothing of a transaction that is rolled back", async () => {
    await app.query("BEGIN");
    const id = await submit({ ...NOTE, payload: "rolled back" });
    await app.query("SAVEPOINT half");
    const inner = await submit({ ...NOTE, payload: "inner" });
    await app.query("ROLLBACK TO half");
    await app.query("ROLLBACK");
    // A later request is taken in after everything that could have been before it.
    await decided(await submit({ ...NOTE, payload: "after" }));
    assert.deepEqual([await request(id), await request(inner)], [null, null]);
    assert.equal((await get(`/v1/jobs/${id}`)).status, 404);
    const { rows } = await app.query("SELECT count(*)::int4 AS n FROM mainspring.job_requests WHERE id = ANY($1)", [
      [id, inner],
    ]);
    assert.deepEqual(rows, [{ n: 0 }]);
    assert.equal(ran.has('"rolled back"'), false);
  });

  it("takes in a transaction that commits long after later ones", async () => {
    const late = await connected();
    await late.query("BEGIN");
    const id = await submit({ ...NOTE, payload: "late" }, null, late);
    const later = await submit({ ...NOTE, payload: "later" });
    assert.equal((await decided(later)).state, "TAKEN_IN");
    await late.query("COMMIT");
    await late.end();
    assert.equal((await decided(id)).jobId, id);
  });

  it("refuses as POST /v1/jobs does, with the same problem, and holds up no other request", async () => {
    let deep: unknown = 1;
    for (let i = 0; i < 130; i++) deep = [deep];
    const wrong: unknown[] = [
      {},
      "a text",
      [NOTE],
      null,
      { ...NOTE, unknown: 1 },
      { ...NOTE, priority: 11 },
      { ...NOTE, schedule: "every day" },
      { ...NOTE, delayMs: 5, runAt: "2030-01-01T00:00:00Z" },
      { ...NOTE, runAt: "tomorrow" },
      { ...NOTE, labels: { "?": "x" } },
      { ...NOTE, payload: deep },
      { ...NOTE, payload: "x".repeat(1_100_000) },
      { ...NOTE, concurrencyLimit: 2 },
      { ...NOTE, onFinish: { url: "https://example.com/" } },
      { target: { handler: "note", pool: "-" } },
      { ...NOTE, type: "CRON", schedule: "0 0 30 2 *" },
    ];
    const ids: string[] = [];
    for (const job of wrong) ids.push(await submit(job));
    const good = await submit({ ...NOTE, payload: "good" });
    for (const [i, job] of wrong.entries()) {
      const refused = await decided(ids[i] as string);
      const response = await post(job);
      const problem = await response.json();
      assert.ok(response.status >= 400, JSON.stringify(job).slice(0, 100));
      assert.deepEqual(refused.problem, problem, JSON.stringify(job).slice(0, 100));
      assert.deepEqual([refused.state, refused.jobId, refused.executionId], ["REFUSED", null, null]);
      if (JSON.stringify(job).length < 1_000) assert.deepEqual(refused.job, job);
    }
    assert.equal((await decided(good)).state, "TAKEN_IN");
    const listed = (await (await get("/v1/requests?state=REFUSED&limit=100")).json()) as { items: RequestBody[] };
    assert.deepEqual(listed.items.map(({ requestId }) => requestId).slice(0, ids.length), ids.toReversed());
  });

  it("treats idempotency keys, unique keys and names as POST /v1/jobs does", async () => {
    const once = { ...NOTE, payload: { once: 1 } };
    const first = await decided(await submit(once, "key-1"));
    const repeat = await decided(await submit(once, "key-1"));
    assert.deepEqual([repeat.state, repeat.jobId, repeat.executionId], ["TAKEN_IN", first.jobId, first.executionId]);
    const reused = await decided(await submit({ ...once, payload: 2 }, "key-1"));
    const http = await post({ ...once, payload: 2 }, { "idempotency-key": "key-1" });
    assert.deepEqual(reused.problem, await http.json());
    const badKey = await decided(await submit(once, "no key"));
    const badHttp = await post(once, { "idempotency-key": "no key" });
    assert.deepEqual(badKey.problem, await badHttp.json());
    const unique = { target: { handler: "nobody-offers-this" }, uniqueKey: "one" };
    const holder = await decided(await submit(unique));
    const held = await decided(await submit(unique));
    assert.deepEqual([held.jobId, held.deduplicated, holder.deduplicated], [holder.jobId, true, false]);
    const recurring = { ...NOTE, name: "nightly", schedule: "0 3 * * *" };
    const plan = await decided(await submit(recurring));
    assert.deepEqual([plan.state, plan.executionId], ["TAKEN_IN", null]);
    assert.equal((await client.getJob(String(plan.jobId))).state, "ACTIVE");
    const named = await decided(await submit(recurring));
    assert.deepEqual(named.problem, await (await post(recurring)).json());
  });

  it("counts a delay from the request", async () => {
    const id = await submit({ ...NOTE, delayMs: 86_400_000 });
    const { createdAt, jobId } = await decided(id);
    const { nextFireAt } = await client.getJob(String(jobId));
    assert.equal(Date.parse(String(nextFireAt)) - Date.parse(String(createdAt)), 86_400_000);
  });

  it("takes a role that may execute the function, and has no right on any table", async () => {
    await app.query(`
      CREATE ROLE shop LOGIN PASSWORD 'shop';
      GRANT USAGE ON SCHEMA mainspring TO shop;
      GRANT EXECUTE ON FUNCTION mainspring.mainspring_submit(jsonb, text, text),
        mainspring.mainspring_submit_batch(jsonb, text[], text) TO shop;
      CREATE ROLE stranger LOGIN PASSWORD 'stranger';
      GRANT USAGE ON SCHEMA mainspring TO stranger;`);
    const shop = await connected({ user: "shop", password: "shop" });
    // A table of the caller with the name of the store's must not take the place of that.
    await shop.query("CREATE TEMP TABLE job_requests (id uuid, body text)");
    const id = await submit({ ...NOTE, payload: "of the shop" }, null, shop);
    assert.equal((await decided(id)).state, "TAKEN_IN");
    for (const table of ["job_requests", "jobs", "executions"]) {
      await assert.rejects(shop.query(`SELECT FROM mainspring.${table}`), /permission denied/);
      await assert.rejects(shop.query(`DELETE FROM mainspring.${table}`), /permission denied/);
    }
    await shop.end();
    const stranger = await connected({ user: "stranger", password: "stranger" });
    await assert.rejects(submit(NOTE, null, stranger), /permission denied for function mainspring_submit/);
    await assert.rejects(stranger.query(BATCH, ["[]", null]), /permission denied/);
    await stranger.end();
  });

  it("refuses in SQL what no server could read", async () => {
    await assert.rejects(submit({ ...NOTE, payload: "x".repeat(1_200_000) }), /has 1200\d+ bytes, and at most 1179648/);
    await assert.rejects(submit(NOTE, "k".repeat(256)), /has 256 characters, and at most 255/);
    await assert.rejects(app.query("SELECT mainspring.mainspring_submit(NULL)"), /the job is NULL/);
    await assert.rejects(app.query(BATCH, ["{}", null]), /must be a JSON array/);
    await assert.rejects(
      app.query(BATCH, ["[{}]", ["a", "b"]]),
      /one item for each of the 1 jobs \(NULL: no key\), not 2/,
    );
    const many = JSON.stringify(Array.from({ length: 10_001 }, () => 1));
    await assert.rejects(app.query(BATCH, [many, null]), /there are 10001 jobs, and at most 10000/);
    const large = JSON.stringify([{ payload: "x".repeat(1_200_000) }]);
    await assert.rejects(app.query(BATCH, [large, null]), /largest job has 1200\d+ bytes/);
    assert.deepEqual((await app.query(BATCH, ["[]", null])).rows, [{ ids: [] }]);
  });

  it("takes in a batch of 10,000, in the order of the jobs", { timeout: 120_000 }, async () => {
    const jobs = Array.from({ length: 10_000 }, (_, n) => ({ ...NOTE, payload: { batch: n } }));
    const { rows } = await app.query<{ ids: string[] }>(BATCH, [JSON.stringify(jobs), null]);
    const ids = rows[0]?.ids ?? [];
    assert.deepEqual([ids.length, new Set(ids).size], [10_000, 10_000]);
    assert.deepEqual(ids, ids.toSorted());
    await until(async () => {
      const { rows } = await app.query("SELECT FROM mainspring.job_requests WHERE state = 0 LIMIT 1");
      return rows.length === 0 ? true : null;
    });
    const { payload } = await client.getExecution(firstExecutionId(ids[7_777] as string));
    assert.deepEqual(payload, { batch: 7_777 });
    await until(async () => (jobs.every(({ payload }) => ran.has(JSON.stringify(payload))) ? true : null));
    assert.deepEqual(new Set(jobs.map(({ payload }) => ran.get(JSON.stringify(payload)))), new Set([1]));
  });

  it("takes in requests whose notice is lost", { timeout: 60_000 }, async () => {
    const { rows } = await app.query<{ id: string }>(
      `INSERT INTO mainspring.job_requests (id, tenant, state, created_at, bytes, body)
       SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || '7000'
         || substr(gen_random_uuid()::text, 20))::uuid, 'default', 0, extract(epoch FROM now()) * 1000, 40, $1 RETURNING id`,
      [JSON.stringify({ ...NOTE, payload: "unnoticed" })],
    );
    assert.equal((await decided(String(rows[0]?.id))).state, "TAKEN_IN");
    // The connection that listens breaks, and is made anew.
    await app.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'mainspring/%/claim'",
    );
    assert.equal((await decided(await submit({ ...NOTE, payload: "again" }))).state, "TAKEN_IN");
  });

  it("loses and doubles nothing when a server is killed while it takes requests in", { timeout: 120_000 }, async () => {
    other = await startOther(cluster());
    const locker = await connected();
    const jobs = Array.from({ length: 3_000 }, (_, n) => ({ ...NOTE, payload: { killed: n } }));
    await locker.query("BEGIN; LOCK TABLE mainspring.jobs IN EXCLUSIVE MODE");
    const ids: string[] = [];
    for (let from = 0; from < jobs.length; from += 1_000) {
      const part = JSON.stringify(jobs.slice(from, from + 1_000));
      ids.push(...((await app.query<{ ids: string[] }>(BATCH, [part, null])).rows[0]?.ids ?? []));
    }
    // Both servers hold requests now, and wait for the table.
    await until(async () => {
      const { rows } = await app.query(
        "SELECT DISTINCT application_name FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE '%/submit'",
      );
      return rows.length === 2 ? true : null;
    });
    const gone = once(other, "exit");
    other.kill("SIGKILL");
    await gone;
    await locker.query("ROLLBACK");
    await locker.end();
    await until(async () => {
      const { rows } = await app.query("SELECT FROM mainspring.job_requests WHERE state = 0 LIMIT 1");
      return rows.length === 0 ? true : null;
    });
    const own = await app.query(
      "SELECT count(*)::int4 AS n FROM mainspring.job_requests WHERE id = ANY($1) AND state = 1 AND job_id = id",
      [ids],
    );
    assert.deepEqual(own.rows, [{ n: 3_000 }]);
    const done = (n: number) => client.waitForExecution(firstExecutionId(ids[n] as string));
    await Promise.all([0, 999, 1_000, 2_999].map(done));
    const { rows } = await app.query(
      "SELECT count(*)::int4 AS jobs, count(DISTINCT payload)::int4 AS payloads FROM mainspring.jobs WHERE convert_from(payload, 'UTF8') LIKE '%killed%'",
    );
    assert.deepEqual(rows, [{ jobs: 3_000, payloads: 3_000 }]);
  });
});

async function startOther(settings: Record<string, string>): Promise<ChildProcess> {
  const free = { MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_LOG_LEVEL: "info" };
  const child = spawn(process.execPath, [PROGRAM, "serve"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...free, ...settings },
  });
  let text = "";
  for await (const chunk of child.stdout) {
    text += String(chunk);
    if (!/http:\/\/127\.0\.0\.1:\d+/.test(text)) continue;
    child.stdout.resume();
    return child;
  }
  throw new Error("the server ended before it listened");
}
