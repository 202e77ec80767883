import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { fire, planned } from "../../../ports/conformance/recurring-scene.conformance.ts";
import { nodeEnds, started } from "../../../ports/conformance/runs-scene.conformance.ts";
import { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import { StoreUnavailable, StoreUnusable } from "../../../ports/store.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { until } from "../../system/until.fixture.ts";
import { type Connection, sessionOf } from "../connection/connections.ts";
import {
  asked,
  hurriedRuntime,
  openTestStore,
  silent,
  startTestServer,
  type TestServer,
} from "../testing/databases.ts";
import { fatal, ServerDouble } from "../testing/server-double.ts";
import { type CopiedTable, type CopyOptions, copyStore } from "./copy-store.ts";
import { applyMigrations } from "./migrate.ts";

const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
/** Characters that a text format could mistake for its own syntax. */
const AWKWARD = 'a\tb\\N\\.\n"(,)" \u0001 é 😀';

const TABLES = `SELECT relname::text FROM pg_class WHERE relnamespace = to_regnamespace('mainspring')
  AND relkind IN ('r', 'p') AND relpersistence = 'p' AND NOT relispartition AND relname <> 'schema_migrations' ORDER BY 1`;
const OBJECTS = `SELECT relname::text, relkind::text FROM pg_class WHERE relnamespace = to_regnamespace('mainspring')
  AND relname NOT LIKE 'pg_toast%' ORDER BY 1`;

describe("copying a store into another database", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
  });
  after(() => server.stop());

  const copy = (from: pg.ClientConfig, to: Connection, more: Partial<CopyOptions> = {}) => {
    const runtime = hurriedRuntime();
    const signal = new AbortController().signal;
    return copyStore({
      from,
      to,
      schema: null,
      runtime,
      log: silent,
      incarnation: "copy",
      onTable: () => {},
      signal,
      ...more,
    });
  };

  it("brings every row of every table, of former months too, and writes nothing to the source", async () => {
    const [from, to] = [await filled(server), await server.newDatabase()];
    const [rows, objects] = [await rowsOf(from), await asked(from, OBJECTS)];
    for (const [table, found] of Object.entries(rows)) assert.ok(found.length > 0, `${table} is not tested`);

    const told: CopiedTable[] = [];
    const copied = await copy(from, to, { onTable: (table) => told.push(table) });
    assert.deepEqual(await rowsOf(to), rows);
    assert.deepEqual(await asked(to, OBJECTS), objects);
    assert.deepEqual(await rowsOf(from), rows);
    const levels = "SELECT version, needs_level FROM mainspring.schema_migrations WHERE needs_level > 2 ORDER BY 1";
    assert.deepEqual(await asked(to, levels), await asked(from, levels));
    assert.equal((await asked(to, levels)).length, 3);
    const counts = Object.entries(rows).map(([name, found]) => ({ name, rows: found.length }));
    assert.deepEqual([copied, told], [counts, counts]);
  });

  it("goes to the primary, wherever the URL of the target names it", async (t) => {
    const [from, to] = [await filled(server), await server.newDatabase()];
    const standby = await ServerDouble.listen(true, fatal("57P01", "no copy goes to a standby"));
    t.after(() => standby.close());
    const { user, host = "", port, database } = to;
    await copy(from, `postgres://${user}@127.0.0.1:${standby.port},${encodeURIComponent(host)}:${port}/${database}`);
    assert.deepEqual(await rowsOf(to), await rowsOf(from));
  });

  it("brings all that a store keeps: there is nothing but tables", async () => {
    const database = await filled(server);
    const others =
      "SELECT relname::text FROM pg_class WHERE relkind IN ('S', 'm', 'f') AND relnamespace = 'mainspring'::regnamespace";
    assert.deepEqual(await asked(database, others), []);
  });

  it("brings a store of an older version as it is, which the next server upgrades", async () => {
    const [from, to] = [await server.newDatabase(), await server.newDatabase()];
    const client = new pg.Client({ ...from, options: "-c search_path=mainspring" });
    await client.connect();
    await client.query("BEGIN");
    await applyMigrations(sessionOf(client), "mainspring", 1);
    await client.query("COMMIT");
    await client.end();
    await asked(from, "INSERT INTO pools VALUES ('of old', true, 'FIFO', 'SPREAD')");
    const rows = await rowsOf(from);
    await copy(from, to);
    assert.deepEqual(await rowsOf(to), rows);
    const store = await openTestStore(to);
    assert.deepEqual(
      (await store.readPools()).map(({ name }) => name),
      ["of old"],
    );
    await store.close();
  });

  it("refuses a target that a server uses, or that has tables of a store, and changes nothing there", async () => {
    const [from, to] = [await filled(server), await server.newDatabase()];
    const store = await openTestStore(to, systemRuntime(), "the-server");
    await assert.rejects(copy(from, to), unusable(/Another Mainspring server \(mainspring\/the-server\/claim\)/));
    await store.close();
    const rows = await rowsOf(to);
    await assert.rejects(copy(from, to), unusable(/already has tables of Mainspring.*empty database/));
    assert.deepEqual(await rowsOf(to), rows);
  });

  it("refuses a source that no server has used", async () => {
    const to = await server.newDatabase();
    await assert.rejects(copy(await server.newDatabase(), to), unusable(/nothing to copy/));
    assert.deepEqual(await asked(to, OBJECTS), []);
  });

  it("leaves nothing behind when it is given up, and can be done again", async () => {
    const [from, to] = [await filled(server), await server.newDatabase()];
    const stopping = new AbortController();
    const reason = new Error("enough");
    const onTable = () => stopping.abort(reason);
    await assert.rejects(copy(from, to, { onTable, signal: stopping.signal }), reason);
    assert.deepEqual(await asked(to, OBJECTS), []);
    await copy(from, to);
    assert.deepEqual(await rowsOf(to), await rowsOf(from));
  });

  describe("leaves nothing behind half way", () => {
    /** Starts a copy, lets it wait for a table that another session has locked, and ends it there. */
    const ending = async (end: (other: pg.Client, to: pg.ClientConfig) => unknown, signal?: AbortSignal) => {
      const [from, to] = [await filled(server), await server.newDatabase()];
      const other = new pg.Client(from);
      await other.connect();
      await other.query("BEGIN; LOCK TABLE pools");
      const copying = copy(from, to, signal === undefined ? {} : { signal }).catch((error: unknown) => error);
      const waiting = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'pools'::regclass";
      await until(async () => (await other.query(waiting)).rowCount);
      await end(other, to);
      const error = await copying;
      await other.end();
      assert.deepEqual(await asked(to, OBJECTS), []);
      return error;
    };

    it("when its connection breaks", async () => {
      const terminate = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1";
      const error = await ending((other, { database }) => other.query(terminate, [database]));
      assert.ok(error instanceof StoreUnavailable);
    });

    it("when it is given up while rows are on their way", async () => {
      const stopping = new AbortController();
      const reason = new Error("enough");
      assert.equal(await ending(() => stopping.abort(reason), stopping.signal), reason);
    });
  });
});

function unusable(message: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StoreUnusable);
    assert.match(error.message, message);
    return true;
  };
}

/** A store with rows of a year ago and of now in every table. */
async function filled(server: TestServer): Promise<pg.ClientConfig> {
  const database = await server.newDatabase();
  const now = systemRuntime().now();
  for (const at of [now - 365 * 86_400_000, now]) {
    const runtime = hurriedRuntime(at);
    const store = await openTestStore(database, runtime);
    const scene = await Scene.open({ store, runtime, close: () => store.close() });
    for (const payload of [EVERY_BYTE, Buffer.alloc(0), null]) {
      const { shard, executionId } = await scene.submitted({
        ...{ payload, labels: { [AWKWARD]: "é" }, concurrencyKey: AWKWARD },
      });
      const record = { kind: "RESULT" as const, attempt: 1, number: 1, at, data: payload };
      await scene.applied(shard, { steps: [{ executionId, name: AWKWARD, ...record }] });
      const signal = { id: AWKWARD, name: AWKWARD, data: payload, at };
      const command = { id: runtime.uuid(), shard, kind: "SIGNAL" as const, executionId };
      await store.steps.addSignal(executionId, signal, command);
      const lines = [{ at, level: "info", line: AWKWARD }];
      await store.logs.keep([{ executionId, attempt: 1, part: at, lines, received: 3 }]);
    }
    const job = await planned(scene, { name: `${AWKWARD} ${at}`, payload: EVERY_BYTE });
    const skips = [{ from: 1, to: 9, count: 101, reason: "PAUSED" as const }];
    await scene.applied(job.shard, { plans: [fire(scene, job, { skips })] });
    const run = await started(scene, { graph: EVERY_BYTE, payloads: [{ node: 0, payload: EVERY_BYTE }] });
    const bytes = { graph: EVERY_BYTE, definitions: EVERY_BYTE, payloads: [{ node: 4, payload: EVERY_BYTE }] };
    const spawn = { run: run.executionId, spawner: 0, first: 4, nodes: 1, ...bytes };
    await scene.applied(run.shard, { changes: [nodeEnds(scene, run, 0, { branch: AWKWARD, spawn })] });
    await store.close();
  }
  const id = "gen_random_uuid()";
  for (const statement of [
    "INSERT INTO journal VALUES (1, 2, 3, $1)",
    `INSERT INTO commands (id, shard, kind, job_id, body) VALUES (${id}, 1, 1, ${id}, $1)`,
    "INSERT INTO idempotency_keys VALUES ('default', $1, 'hash', '[]', 1)",
    `INSERT INTO unique_keys VALUES ('default', $1, ${id}, ${id})`,
    "INSERT INTO pools VALUES ($1, true, 'FIFO', 'SPREAD', 5)",
    `INSERT INTO dead_letter_runs VALUES (${id}, 'default', 1, $1, 2, ${id})`,
    `INSERT INTO execution_runs VALUES (${id}, 'default', 1, $1, $1, $1, 2, 3, $1, true, 4, 5, 6, ${id}, $1)`,
    `INSERT INTO job_payloads VALUES (${id}, 7, convert_to($1, 'UTF8'))`,
    "INSERT INTO tzdata_versions VALUES ('2026f', '2026-10-30', $1)",
    "INSERT INTO tzdata_changeovers VALUES (1, $1, 5)",
    "INSERT INTO handler_policies VALUES ('default', $1, true, '{}', 1, 2, 3)",
    `INSERT INTO outbox VALUES (1, 2, 3, 4, convert_to($1, 'UTF8'), ARRAY[${id}], NULL, ARRAY[$1])`,
    `INSERT INTO event_inbox VALUES (${id}, 1, convert_to($1, 'UTF8'))`,
    "INSERT INTO event_floors VALUES (1, 2, length($1))",
    `INSERT INTO job_requests VALUES (${id}, $1, 2, 1, 2, 3, $1, $1, $1, ${id}, ${id}, true, $1)`,
    `INSERT INTO ingest_positions VALUES (1, ${id}, length($1), 3, 4)`,
    `INSERT INTO ingest_records VALUES (1, ${id}, 2, 3, convert_to($1, 'UTF8'))`,
    `INSERT INTO ingest_refusals VALUES (1, ${id}, 2, 3, 4.5, $1, $1, convert_to($1, 'UTF8'), 5, false)`,
    "INSERT INTO event_sinks VALUES ($1, 1, 2, 3, 4)",
    `INSERT INTO webhooks VALUES (${id}, $1, $1, NULL, $1, $1, 1, 2, 3, $1, 4, 5, $1)`,
    `INSERT INTO api_keys VALUES (${id}, $1, $1, ARRAY[$1], ARRAY[$1], $1, $1, '\\x00ff', ${id}, 1, $1, 2, 3, 4, 5, ${id})`,
    `INSERT INTO audit VALUES (${id}, 1, (extract(epoch FROM now()) * 1000)::int8, $1, $1, $1, $1, $1, $1, $1, $1, $1, '{}', '\\x00ff', '\\x01')`,
    `INSERT INTO audit_anchors VALUES (1, 2, '[]', '[]', '\\x00ff', '\\x01', $1)`,
    `INSERT INTO audit_sealed VALUES (${id}, length($1))`,
    "INSERT INTO tenants VALUES ($1, $1, 1, 2, 3, 4, 5.5, 6.5, 7, 8, 9, ARRAY[$1], 10, 11, 12)",
    "INSERT INTO tenant_sources VALUES ($1, $1, $1)",
    "INSERT INTO quota_levels VALUES ($1, $1, 1.5, 2.5)",
    "INSERT INTO quota_places VALUES ($1, $1, $1, 3, 4.5)",
    `INSERT INTO webhook_deliveries VALUES (${id}, ${id}, $1, 1, $1, $1, 0, 1, 2, 3, 4, 5, $1)`,
  ]) {
    await asked(database, statement, [AWKWARD]);
  }
  await asked(
    database,
    "UPDATE executions SET rank = 0.1 + 0.2, error = $1, state = 7, queue = 0 WHERE payload_bytes = 0",
    [AWKWARD],
  );
  return database;
}

/** All rows of all tables, in PostgreSQL's text format. */
async function rowsOf(database: pg.ClientConfig): Promise<Record<string, unknown[]>> {
  const rows: Record<string, unknown[]> = {};
  for (const [table] of await asked(database, TABLES)) {
    rows[table as string] = (await asked(database, `SELECT t::text FROM ${table} t ORDER BY 1`)).flat();
  }
  return rows;
}
