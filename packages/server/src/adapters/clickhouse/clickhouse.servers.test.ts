import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { startClickHouse, type TestClickHouse } from "../../../../../tools/services/start-clickhouse.ts";
import { type ClickHouseAddress, clickHouseAddress } from "../../ports/clickhouse-address.ts";
import { SinkRefused, SinkUnavailable } from "../../ports/event-sink.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { until } from "../system/until.fixture.ts";
import { ClickHouseSink } from "./clickhouse-sink.ts";
import { Connection } from "./connection.ts";
import { eventsOfTheDay, rowsOf } from "./events.fixture.ts";
import { migrateClickHouse } from "./migrations.ts";

const GUIDE = new URL("../../../../../docs/guides/clickhouse.md", import.meta.url);
/** The questions of the guide with the answers that it shows. */
const QUESTIONS = [
  ...readFileSync(GUIDE, "utf8").matchAll(/```sql view\n([^`]+)```\n\n```text answer\n([^`]+)```/g),
].map(([, sql = "", answer = ""]) => ({ sql: sql.trim().replace(/;$/, ""), answer }));

function addressOf({ url }: TestClickHouse, database: string): ClickHouseAddress {
  const address = clickHouseAddress(`${url}/${database}`);
  assert.ok(address !== null);
  return address;
}

/** Table as people read it, with one row a line. */
function tableOf(rows: readonly Record<string, unknown>[]): string {
  const lines = [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row).map((v) => String(v ?? "NULL")))];
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

describe("the sink of ClickHouse, on its engine", () => {
  let engine: TestClickHouse;
  before(async () => {
    engine = await startClickHouse();
  });
  after(() => engine.stop());

  /** A new database, with the tables and the day of the guide, in this order of deliveries. */
  async function loaded(database: string, deliveries: (sink: ClickHouseSink) => Promise<void>): Promise<Connection> {
    const address = addressOf(engine, database);
    await migrateClickHouse(address);
    const connection = new Connection(address);
    // The day of the guide stays as it is, so it can be older than the table keeps events.
    await connection.command("ALTER TABLE events REMOVE TTL");
    const sink = new ClickHouseSink(address, systemRuntime());
    await sink.open();
    await deliveries(sink);
    await sink.close();
    return connection;
  }

  async function answersOf(connection: Connection): Promise<string[]> {
    const answers: string[] = [];
    for (const { sql } of QUESTIONS) answers.push(tableOf(await connection.rows(sql)));
    const all = await connection.rows<object>("SELECT * FROM executions ORDER BY execution_id");
    return [...answers, tableOf(all as Record<string, unknown>[])];
  }

  it("answers the questions of the guide as the guide says", async () => {
    const connection = await loaded("guide", (sink) => sink.deliver(rowsOf(eventsOfTheDay())));
    assert.equal(QUESTIONS.length, 6);
    for (const { sql, answer } of QUESTIONS) assert.equal(tableOf(await connection.rows(sql)), answer, sql);
    await connection.close();
  });

  it("gives the same answers after events that came twice and in another order", async () => {
    const once = await loaded("in_order", (sink) => sink.deliver(rowsOf(eventsOfTheDay())));
    const events = eventsOfTheDay();
    const shuffled = events.map((_, i) => events[(i * 7 + 5) % events.length]).filter((event) => event !== undefined);
    assert.equal(new Set(shuffled).size, events.length);
    const twice = await loaded("shuffled", async (sink) => {
      await Promise.all(rowsOf(shuffled.slice(3)).map((row) => sink.deliver([row])));
      await sink.deliver(rowsOf(shuffled).reverse());
    });
    const expected = await answersOf(once);
    assert.deepEqual(await answersOf(twice), expected);
    await twice.command("OPTIMIZE TABLE events FINAL");
    assert.deepEqual(await answersOf(twice), expected);
    const [row] = await twice.rows<{ rows: number }>("SELECT toUInt32(count()) AS rows FROM events");
    assert.equal(row?.rows, events.length);
    await Promise.all([once.close(), twice.close()]);
  });

  it("applies the statements once, and creates the database", async () => {
    const address = addressOf(engine, "fresh");
    assert.deepEqual(await migrateClickHouse(address), [
      "0001-events.sql",
      "0002-views.sql",
      "0003-steps-and-workers.sql",
    ]);
    assert.deepEqual(await migrateClickHouse(address), []);
    const connection = new Connection(address);
    // A run that ended before it wrote its version is repeated.
    await connection.command("TRUNCATE TABLE schema_migrations");
    assert.deepEqual(await migrateClickHouse(address), [
      "0001-events.sql",
      "0002-views.sql",
      "0003-steps-and-workers.sql",
    ]);
    await connection.close();
  });

  it("is refused without tables and with old ones, and names the command that helps", async () => {
    const open = (database: string) => new ClickHouseSink(addressOf(engine, database), systemRuntime()).open();
    await assert.rejects(open("nowhere"), refusal(/no database nowhere; run `mainspring clickhouse migrate`/));
    const connection = new Connection(addressOf(engine, "default"));
    await connection.command("CREATE DATABASE empty");
    await assert.rejects(open("empty"), refusal(/lacks the tables; run `mainspring clickhouse migrate`/));
    await migrateClickHouse(addressOf(engine, "old"));
    await connection.command("ALTER TABLE old.schema_migrations DELETE WHERE version > 1 SETTINGS mutations_sync = 1");
    await assert.rejects(
      open("old"),
      refusal(/have the version 1, and this server needs 3; run `mainspring clickhouse/),
    );
    await connection.close();
  });

  it("inserts nothing twice and loses nothing when the server is killed in the middle", async () => {
    const address = addressOf(engine, "killed");
    await migrateClickHouse(address);
    const sink = new ClickHouseSink(address, systemRuntime(), 100);
    await sink.open();
    const rows = rowsOf(manyEvents(1_500));
    const delivery = sink.deliver(rows);
    delivery.catch(() => {});
    const connection = new Connection(address);
    const count = async () =>
      (await connection.rows<{ n: number }>("SELECT toUInt32(uniqExact(id)) AS n FROM events"))[0]?.n ?? 0;
    await until(async () => (await count()) >= 200);
    await engine.kill();
    await assert.rejects(delivery, SinkUnavailable);
    await assert.rejects(sink.deliver(rows), SinkUnavailable);
    await engine.restart();
    await sink.deliver(rows);
    assert.equal(await count(), 1_500);
    // The first inserts were whole, so the server recognises their repeats by their tokens.
    const [all] = await connection.rows<{ n: number }>("SELECT toUInt32(count()) AS n FROM events");
    assert.equal(all?.n, 1_500);
    await sink.close();
    await assert.rejects(sink.deliver(rows), SinkUnavailable);
    await connection.close();
  });
});

describe("a server of ClickHouse that cannot be used", () => {
  const password = "the-secret-of-this-test";
  const user = { name: "writer", password };
  async function refusedBy(options: Parameters<typeof startClickHouse>[0], given: string, says: RegExp): Promise<void> {
    const engine = await startClickHouse({ user, ...options });
    try {
      const address = { ...addressOf(engine, "mainspring"), username: "writer", password: given };
      const sink = new ClickHouseSink(address, systemRuntime());
      if (options?.deny !== undefined) await migrateClickHouse(address);
      await assert.rejects(sink.open(), refusal(says));
      await sink.close();
    } finally {
      await engine.stop();
    }
  }

  it("is older than 24.3", async () => {
    const engine = await startClickHouse({ version: "24.2.9.1" });
    const says = /has the version 24\.2\.9\.1; Mainspring needs 24\.3 or newer/;
    const sink = new ClickHouseSink(addressOf(engine, "default"), systemRuntime());
    await assert.rejects(sink.open(), refusal(says));
    await assert.rejects(migrateClickHouse(addressOf(engine, "mainspring")), refusal(says));
    await sink.close();
    await engine.stop();
  });
  it("does not accept the password", () => refusedBy({}, "a-wrong-one", /not accept the password of the user writer/));
  it("does not let the user insert", () =>
    refusedBy({ deny: "INSERT INTO events" }, password, /lacks a right; run GRANT SELECT, INSERT ON mainspring/));
  it("does not answer", async () => {
    const address = { url: "http://127.0.0.1:1", username: "writer", password, database: "mainspring" };
    const sink = new ClickHouseSink(address, systemRuntime());
    await assert.rejects(sink.open(), (error) => error instanceof SinkUnavailable && !error.message.includes(password));
    await sink.close();
  });
});

function refusal(says: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof SinkRefused, String(error));
    assert.match(error.message, says);
    return true;
  };
}

/** Events with different ids. */
function manyEvents(count: number): ReturnType<typeof eventsOfTheDay> {
  const [event] = eventsOfTheDay();
  assert.ok(event !== undefined);
  return Array.from({ length: count }, (_, i) => ({ ...event, attempt: i + 1, at: systemRuntime().now() }));
}
