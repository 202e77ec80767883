import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Client } from "@mainspring/sdk";
import { startClickHouse, type TestClickHouse } from "../../../tools/services/start-clickhouse.ts";
import { mainspring } from "./testing/command.ts";
import { serveOn } from "./testing/server.ts";

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

  it("creates tables, and inserts the history of a server, again and again", async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), "mainspring-clickhouse-"));
    t.after(() => rm(dataDir, { recursive: true, force: true }));
    const server = serveOn(dataDir, {});
    t.after(() => server.signal("SIGKILL"));
    const [, url = ""] = await server.says(/api +(http:\S+)[^]*curl/);
    const env = { MAINSPRING_CLICKHOUSE: clickhouse, MAINSPRING_URL: url };
    const window = ["--from", "2020-01-01T00:00:00Z", "--to", "2100-01-01T00:00:00Z"];
    const early = await mainspring(["clickhouse", "backfill", ...window], { env });
    assert.match(early.stderr, /has no database mainspring; run `mainspring clickhouse migrate`/);
    assert.match(
      (await mainspring(["clickhouse", "migrate"], { env })).stdout,
      /^Applied 0001-events\.sql, 0002-views\.sql to/,
    );

    const client = new Client({ url });
    const done = await client.submit({ target: { handler: "echo" }, payload: "hello" });
    const dead = await client.submit({ target: { handler: "sleep" }, payload: { ms: -1 } });
    await client.submit({ target: { handler: "echo" }, payload: "later", delayMs: 3_600_000 });
    for (const { executionId } of [done, dead]) await client.waitForExecution(executionId);

    const backfill = () => mainspring(["clickhouse", "backfill", ...window, "--json"], { env });
    const first = await backfill();
    assert.equal(first.stderr, "");
    const told = JSON.parse(first.stdout) as { executions: number; events: number; open: number };
    assert.deepEqual([told.executions, told.open], [2, 1]);
    assert.deepEqual(JSON.parse((await backfill()).stdout), told);
    const rows = await ask(
      "SELECT execution_id, state, attempts, failures, lateness_ms FROM executions ORDER BY execution_id",
    );
    const shown = [];
    for (const { executionId } of [done, dead]) {
      const { state, attempt, failures, latenessMs } = await client.getExecution(executionId);
      shown.push([executionId, state, attempt, failures, latenessMs].join("\t"));
    }
    assert.deepEqual(rows.split("\n").sort(), shown.sort());
    assert.equal(await ask("SELECT uniqExact(id), countIf(is_live = 1) FROM events"), `${told.events}\t0`);
  });
});
