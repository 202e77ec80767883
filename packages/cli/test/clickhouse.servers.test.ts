import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import { startClickHouse, type TestClickHouse } from "../../../tools/services/start-clickhouse.ts";
import { mainspring } from "./testing/command.ts";
import { startServer } from "./testing/server.ts";

const password = "the-secret-of-this-test";

describe("mainspring clickhouse", () => {
  let engine: TestClickHouse;
  let clickhouse: string;
  before(async () => {
    engine = await startClickHouse({ user: { name: "writer", password } });
    clickhouse = `${engine.url.replace("://", `://writer:${password}@`)}/mainspring`;
  });
  after(() => engine.stop());

  const ask = async (sql: string) => {
    const headers = { authorization: `Basic ${btoa(`writer:${password}`)}` };
    const answer = await fetch(`${engine.url}/?database=mainspring`, { method: "POST", body: sql, headers });
    return (await answer.text()).trim();
  };

  it("says how an address has to look, and never repeats a password", async () => {
    const wrong = await mainspring(["clickhouse", "migrate"], {
      env: { MAINSPRING_CLICKHOUSE: `http://x:${password}@h/` },
    });
    assert.match(wrong.stderr, /^mainspring: MAINSPRING_CLICKHOUSE must be a URL such as/);
    assert.deepEqual([wrong.stderr.includes(password), wrong.code], [false, 2]);
    const denied = await mainspring(["clickhouse", "migrate", "--url", `${engine.url}/mainspring`]);
    assert.match(denied.stderr, /does not accept the password of the user default/);
    assert.equal(denied.code, 1);
  });

  it("prints its statements", async () => {
    const { stdout, code } = await mainspring(["clickhouse", "migrate", "--print"]);
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^CREATE TABLE IF NOT EXISTS schema_migrations[^]*-- 0001-events\.sql\n[^]*CREATE TABLE IF NOT EXISTS events[^]*CREATE OR REPLACE VIEW executions/,
    );
  });

  it("creates the tables that a server then feeds, and a backfill of its history changes no answer", async (t) => {
    const window = ["--from", "2020-01-01T00:00:00Z", "--to", "2100-01-01T00:00:00Z"];
    const env = { MAINSPRING_CLICKHOUSE: clickhouse };
    const early = await mainspring(["clickhouse", "backfill", ...window], { env });
    assert.match(early.stderr, /has no database mainspring; run `mainspring clickhouse migrate`/);
    const { stdout, stderr } = await mainspring(["clickhouse", "migrate"], { env });
    assert.match(
      stdout,
      /^Applied 0001-events\.sql, 0002-views\.sql, 0003-steps-and-workers\.sql to mainspring at http/,
      stderr,
    );

    const server = await startServer({ ...env, MAINSPRING_EVENTS: "clickhouse" });
    t.after(() => server.stop());
    const client = new Client({ url: server.httpUrl });
    const done = await client.submit({ target: { handler: "echo" }, payload: "hello" });
    const dead = await client.submit({ target: { handler: "sleep" }, payload: { ms: -1 } });
    const open = await client.submit({ target: { handler: "echo" }, payload: "later", delayMs: 3_600_000 });
    for (const { executionId } of [done, dead]) await client.waitForExecution(executionId);
    const expected: string[] = [];
    for (const { executionId } of [done, dead, open]) {
      const { state, reason, trigger, attempt, failures, latenessMs, error } = await client.getExecution(executionId);
      const shown = [executionId, state, reason, trigger, attempt, failures, latenessMs, error?.name ?? null];
      expected.push(shown.map((value) => value ?? "\\N").join("\t"));
    }
    const executions = async () =>
      await ask(
        "SELECT execution_id, state, reason, trigger, attempts, failures, lateness_ms, error_name FROM executions ORDER BY toString(execution_id)",
      );
    const ends = "SELECT uniqExact(id) FROM events WHERE kind = 'JobCreated' OR is_end = 1";
    await until(async () => (await ask(ends)) === "5");
    assert.deepEqual((await executions()).split("\n"), expected.sort());

    const backfill = await mainspring(["clickhouse", "backfill", ...window, "--json"], {
      env: { ...env, ...server.clientEnv, MAINSPRING_RETRY_FOR: "60s" },
    });
    assert.equal(backfill.stderr, "");
    assert.deepEqual(JSON.parse(backfill.stdout), { executions: 2, events: 7, open: 1 });
    assert.deepEqual((await executions()).split("\n"), expected.sort());
    // The history has nothing that the server did not tell.
    assert.equal(await ask("SELECT count() FROM (SELECT id FROM events GROUP BY id HAVING max(is_live) = 0)"), "0");
  });
});
