import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { CLAIM_LOCK } from "../cluster/claim.ts";
import { openSqlStore, type SqlStore, type SqlStoreOptions } from "../sql-store.ts";
import { asked, hurriedRuntime, silent, startTestServer, type TestServer } from "../testing/databases.ts";
import { FORMER_SCHEMA } from "./home.ts";
import { initial } from "./migrations/0001-initial.ts";
import { MIGRATIONS } from "./migrations/index.ts";
import { type MoveSchemaOptions, moveSchema } from "./move-schema.ts";

const MAIN = "mainspring";
const OTHER = "other_store";
/** Everything that users have created in a schema. */
const OBJECTS = `
  SELECT 'relation', relname::text, relkind::text FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relname !~ '^pg_toast'
  UNION ALL SELECT 'type', typname::text, typtype::text FROM pg_type WHERE typnamespace = to_regnamespace($1)
  UNION ALL SELECT 'function', proname::text, prokind::text FROM pg_proc WHERE pronamespace = to_regnamespace($1) ORDER BY 1, 2`;
/** Tables that another program may have. */
const OF_AN_APPLICATION = `CREATE TABLE jobs (id serial PRIMARY KEY, title text); INSERT INTO jobs (title) VALUES ('mine');
  CREATE TABLE schema_migrations (version varchar PRIMARY KEY); INSERT INTO schema_migrations VALUES ('20240101120000');
  CREATE TABLE pools (depth integer)`;

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

/** A database of a user without a configured schema, whose search path is the usual one. */
async function newDatabase(): Promise<pg.ClientConfig> {
  const database = await server.newDatabase();
  await asked(database, "DO $$ BEGIN CREATE ROLE clerk LOGIN SUPERUSER; EXCEPTION WHEN duplicate_object THEN END $$");
  return { ...database, user: "clerk" };
}

function open(connection: pg.ClientConfig, more: Partial<SqlStoreOptions> = {}): Promise<SqlStore> {
  const runtime = hurriedRuntime();
  return openSqlStore({ connection, incarnation: runtime.uuid(), runtime, log: silent, ...more });
}

function move(connection: pg.ClientConfig, more: Partial<MoveSchemaOptions> = {}) {
  const runtime = hurriedRuntime();
  const where = { connection, from: null, schema: null };
  return moveSchema({ ...where, incarnation: "a-move", runtime, log: silent, ...more });
}

async function submitted(store: SqlStore, name: string): Promise<string> {
  const scene = await Scene.open({ store, runtime: systemRuntime(), close: () => store.close() });
  return (await scene.submitted({ name })).executionId;
}

const isIn = (store: SqlStore, id: string) => store.queries.getExecution("default", id).then((found) => found !== null);
const objects = (database: pg.ClientConfig, schema: string) => asked(database, OBJECTS, [schema]);

/** A store where older programs make it, with an execution in it. */
async function formerStore(): Promise<{ database: pg.ClientConfig; id: string }> {
  const database = await newDatabase();
  const store = await open(database, { schema: FORMER_SCHEMA });
  const id = await submitted(store, "of old");
  await store.close();
  return { database, id };
}

describe("the schema of a store", () => {
  it("is mainspring for a new one, beside tables of an application that have the same names", async () => {
    const database = await newDatabase();
    await asked(database, OF_AN_APPLICATION);
    const store = await open(database);
    const id = await submitted(store, "new");
    await store.close();
    const again = await open(database);
    assert.ok(await isIn(again, id));
    await again.close();
    assert.deepEqual(await asked(database, "SELECT title FROM public.jobs"), [["mine"]]);
    assert.deepEqual(await asked(database, "SELECT version FROM public.schema_migrations"), [["20240101120000"]]);
  });

  it("stays public for a store that is there, with MAINSPRING_STORE_SCHEMA=mainspring as well as without", async () => {
    const { database, id } = await formerStore();
    for (const schema of [null, MAIN, FORMER_SCHEMA]) {
      const store = await open(database, { schema });
      assert.ok(await isIn(store, id));
      await store.close();
    }
    assert.deepEqual(await objects(database, MAIN), []);
  });

  it("stays where the search path of the user leads, and older servers and newer ones see each other's claims", async () => {
    const database = { ...(await newDatabase()), options: "-c search_path=of_the_team" };
    await asked(database, "CREATE SCHEMA of_the_team");
    const first = await open({ ...database, options: "" }, { schema: "of_the_team" });
    const id = await submitted(first, "of the team");
    await first.close();
    const found = await open(database);
    assert.ok(await isIn(found, id));
    const held =
      "SELECT count(*)::int4 FROM pg_locks WHERE locktype = 'advisory' AND (classid::int8 << 32 | objid::int8) = $1";
    assert.deepEqual(await asked(database, held, [CLAIM_LOCK]), [[1]]);
    await found.close();
  });

  it("is asked for where a store is elsewhere: nobody means a second store by saying nothing", async () => {
    const database = await newDatabase();
    await (await open(database, { schema: OTHER })).close();
    await assert.rejects(open(database), /a store in the schema other_store, and none in mainspring: name the one/);
    assert.deepEqual(await objects(database, MAIN), []);
  });

  it("is not another one than public while the store is there", async () => {
    const { database } = await formerStore();
    await assert.rejects(
      open(database, { schema: OTHER }),
      /`mainspring store move-schema`.*MAINSPRING_STORE_SCHEMA=public/,
    );
    assert.deepEqual(await objects(database, OTHER), []);
  });

  it("is made by somebody else where the user may not", async () => {
    const database = await newDatabase();
    await asked(database, "DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN");
    const guest = { ...database, user: "guest" };
    await assert.rejects(open(guest), {
      name: "StoreUnusable",
      message:
        /guest may not make the schema mainspring: let the owner .* CREATE SCHEMA "mainspring" AUTHORIZATION "guest"/,
    });
    await asked(database, 'CREATE SCHEMA "mainspring" AUTHORIZATION "guest"');
    await (await open(guest)).close();
    await asked(database, "DROP OWNED BY guest; DROP ROLE guest");
  });

  it("with tables of another program is no schema for a store", async () => {
    const database = await newDatabase();
    await asked(database, `CREATE SCHEMA ${OTHER}; CREATE TABLE ${OTHER}.pools (depth integer)`);
    await assert.rejects(open(database, { schema: OTHER }), /tables of another program: name another schema/);
    assert.deepEqual(await asked(database, `SELECT count(*)::int4 FROM pg_tables WHERE schemaname = '${OTHER}'`), [
      [1],
    ]);
  });
});

describe("a program that knows no schema but that of the search path", () => {
  /**
   * The first steps of an older program's start, in short: reads the store's version and the level that it needs, or
   * runs its first migration.
   */
  const start = async (database: pg.ClientConfig) => {
    const [found] = await asked(database, "SELECT to_regclass('schema_migrations') IS NOT NULL");
    if (found?.[0] === true) return await asked(database, "SELECT version, needs_level FROM schema_migrations");
    return await asked(database, initial);
  };

  it("makes no second store beside a new one", async () => {
    const database = await newDatabase();
    await (await open(database)).close();
    const before = await objects(database, FORMER_SCHEMA);
    await assert.rejects(start(database), /relation "executions_unsuccessful" already exists/);
    assert.deepEqual(await objects(database, FORMER_SCHEMA), before);
    assert.deepEqual(
      (await asked(database, "SELECT note FROM public.executions_unsuccessful"))[0]?.[0],
      "Mainspring: the store is in the schema mainspring; programs that would make a second one here stop at this mark",
    );
  });

  it("finds a store that is too new for it where one was moved away", async () => {
    const { database } = await formerStore();
    await move(database);
    assert.deepEqual(await start(database), [[1_000_000, 1_000_000]]);
  });

  it("is not kept from a store that is made there on purpose", async () => {
    const database = await newDatabase();
    await (await open(database)).close();
    await (await open(database, { schema: FORMER_SCHEMA })).close();
    assert.deepEqual((await start(database)).length, MIGRATIONS.length);
    const { database: moved } = await formerStore();
    await move(moved);
    await (await open(moved, { schema: FORMER_SCHEMA })).close();
    assert.deepEqual((await start(moved)).length, MIGRATIONS.length);
  });

  it("has the store of a user whose name is that of the schema, and its claim, and then there is no mark", async () => {
    const database = await server.newDatabase();
    const store = await open(database);
    const claimed = (lock: string) => asked(database, `SELECT pg_try_advisory_lock${lock}($1)`, [CLAIM_LOCK]);
    assert.deepEqual([await claimed(""), await claimed("_shared")], [[[false]], [[true]]]);
    await store.close();
    assert.deepEqual((await start(database)).length, MIGRATIONS.length);
    assert.deepEqual(await objects(database, FORMER_SCHEMA), []);
  });
});

describe("two stores in one database", () => {
  it("know nothing of each other: claims, nodes, upkeep, pools and jobs", async () => {
    const database = await newDatabase();
    const [one, other] = [await open(database), await open(database, { schema: OTHER })];
    const [id, otherId] = [await submitted(one, "same name"), await submitted(other, "same name")];
    assert.deepEqual([await isIn(one, id), await isIn(one, otherId)], [true, false]);
    assert.deepEqual([await isIn(other, id), await isIn(other, otherId)], [false, true]);
    await other.putPool({ name: "theirs", paused: true });
    assert.deepEqual(await one.readPools(), []);
    const node = { incarnation: "n", name: "n", address: "n:1", roles: [], version: "1", startedAt: 0, level: 3 };
    await one.leases.renew(node as never, 10_000);
    assert.deepEqual(await other.leases.list(), []);
    await assert.rejects(open(database, { schema: OTHER }), /Another Mainspring server .* uses this database/);
    await Promise.all([one.close(), other.close()]);
  });

  it("are kept up at the same time", async () => {
    const database = await newDatabase();
    const year = (at: number) => hurriedRuntime(Date.UTC(at, 5, 15));
    const [one, other] = [
      await open(database, { runtime: year(2030) }),
      await open(database, { schema: OTHER, runtime: year(2030) }),
    ];
    const retention = { days: 30, deadDays: 30 };
    await Promise.all([one, other].map((store) => store.maintain(Date.UTC(2031, 5, 15), retention)));
    const months = `SELECT n.nspname::text, min(c.relname)::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relname ~ '^jobs_20' AND c.relkind = 'r' GROUP BY 1 ORDER BY 1`;
    assert.deepEqual(await asked(database, months), [
      [MAIN, "jobs_2031_05"],
      [OTHER, "jobs_2031_05"],
    ]);
    await Promise.all([one.close(), other.close()]);
  });
});

describe("moving a store to another schema", () => {
  it("moves all that it is made of and nothing else, once", async () => {
    const { database, id } = await formerStore();
    await asked(database, "CREATE TABLE of_an_application (jobs integer)");
    const before = await objects(database, FORMER_SCHEMA);
    const moved = await move(database);
    assert.deepEqual([moved.from, moved.to], [FORMER_SCHEMA, MAIN]);
    const isOther = ([, name]: unknown[]) => /of_an_application/.test(name as string);
    const kept = before.filter(isOther);
    assert.deepEqual(
      await objects(database, MAIN),
      before.filter((object) => !isOther(object)),
    );
    const left = (await objects(database, FORMER_SCHEMA)).filter(
      ([, name]) => !/schema_migrations/.test(name as string),
    );
    assert.deepEqual(left, kept);

    assert.deepEqual(await move(database), { from: null, to: MAIN, tables: 0 });
    const store = await open(database);
    assert.ok(await isIn(store, id));
    await store.maintain(systemRuntime().now() + 40 * 86_400_000, { days: 365, deadDays: 365 });
    await store.close();
  });

  it("goes back, and leaves no trace", async () => {
    const { database, id } = await formerStore();
    const before = await objects(database, FORMER_SCHEMA);
    await move(database, { schema: OTHER });
    await move(database, { from: OTHER, schema: FORMER_SCHEMA });
    assert.deepEqual(await objects(database, FORMER_SCHEMA), before);
    assert.deepEqual(await asked(database, "SELECT to_regnamespace($1) IS NULL", [OTHER]), [[true]]);
    const store = await open(database);
    assert.ok(await isIn(store, id));
    await store.close();
  });

  it("is refused while a server runs, alone or in a cluster, and while a lease stands", async () => {
    const { database } = await formerStore();
    for (const isShared of [false, true]) {
      const store = await open(database, { isShared });
      await assert.rejects(move(database), /server \(.*\) uses this database: stop all servers.*Nothing was changed/);
      await store.close();
    }
    const lives = `INSERT INTO nodes (incarnation, name, address, roles, version, started_at, renewed_at, expires_at)
      VALUES ('n', 'node-1', 'n:1', '[]', '1', 1, now(), now() + interval '50 s')`;
    await asked(database, lives);
    await assert.rejects(move(database), /lease of the node node-1 has \d+ s left: stop all servers/);
    assert.deepEqual(await objects(database, MAIN), []);
  });

  it("changes nothing where it fails half way, and says who is in the way", async () => {
    const { database } = await formerStore();
    await asked(database, `CREATE SCHEMA ${OTHER}; CREATE TABLE ${OTHER}.skips (of_another_program integer)`);
    const before = await objects(database, FORMER_SCHEMA);
    await assert.rejects(move(database, { schema: OTHER }), /tables of another program: name another schema/);
    assert.deepEqual(await objects(database, FORMER_SCHEMA), before);
  });

  it("needs a store, and one only", async () => {
    const database = await newDatabase();
    await assert.rejects(move(database), /There is no store to move/);
    await (await open(database, { schema: OTHER })).close();
    await assert.rejects(move(database), /there is one in other_store \(--from\)/);
    await (await open(database, { schema: MAIN })).close();
    await assert.rejects(move(database, { from: OTHER }), /other_store and mainspring both have a store/);
  });

  it("lets no server that waits for the claim make a second store", async () => {
    const { database, id } = await formerStore();
    const holder = new pg.Client(database);
    await holder.connect();
    await holder.query("SELECT pg_advisory_lock($1)", [CLAIM_LOCK]);
    const runtime = systemRuntime();
    let tries = 0;
    const whileItWaits = {
      ...runtime,
      setTimer: (delayMs: number, run: () => void) => {
        if (delayMs > 1_000) return runtime.setTimer(delayMs, run);
        const before = ++tries === 1 ? holder.end().then(() => move(database)) : Promise.resolve();
        void before.then(run);
        return { cancel: () => undefined };
      },
    };
    await assert.rejects(open(database, { runtime: whileItWaits }), /was moved to the schema mainspring just now/);
    const store = await open(database);
    assert.ok(await isIn(store, id));
    await store.close();
  });
});
