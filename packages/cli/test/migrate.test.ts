import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Execution, SubmittedJob } from "@mainspring/sdk";
import { type EmbeddedPostgres, startEmbedded, systemRuntime, until } from "@mainspring/server/testing";
import { mainspring } from "./testing/command.ts";
import { serveOn, startServer, type TestServer } from "./testing/server.ts";

const log = { info: () => {}, warn: () => {}, error: () => {} };
const PASSWORD = "pa55word-of-mine";

describe("mainspring migrate", () => {
  let folder: string;
  let postgres: EmbeddedPostgres;
  let url: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-own-"));
    postgres = await startEmbedded({ dataDir: join(folder, "data"), runtime: systemRuntime(), log });
    const { host, port, user, database } = postgres.connection;
    // This endpoint does not ask for the password, but the password must still stay secret.
    url = `postgres://${user}:${PASSWORD}@${encodeURIComponent(host)}:${port}/${database}`;
  });
  after(async () => {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const migrate = (dataDir: string, ...more: string[]) =>
    mainspring(["migrate", "--to", url, ...more], { env: { MAINSPRING_DATA_DIR: dataDir } });
  const runJson = async <T>(server: Pick<TestServer, "clientEnv">, ...args: string[]) =>
    JSON.parse((await mainspring([...args, "--json"], { env: server.clientEnv })).stdout) as T;

  it("brings what a killed server left to another PostgreSQL, where a server finishes it", async (t) => {
    const from = await startServer();
    t.after(() => from.stop());
    const submit = (...args: string[]) => runJson<SubmittedJob>(from, "submit", ...args);
    const done = await runJson<Execution>(from, "submit", "echo", "--payload", '"kept"', "--wait");
    const dead = await runJson<Execution>(from, "submit", "sleep", "--payload", '{"ms":-1}', "--wait");
    const later = await submit("echo", "--delay", "1h");
    const soon = await submit("echo", "--delay", "3s", "--payload", '"soon"');
    await mainspring(["pools", "pause", "held", "--force"], { env: from.clientEnv });
    const held = await submit("echo", "--pool", "held");
    const keyed = ["submit", "echo", "--delay", "1h", "--unique-key", "once"];
    const kept = await runJson<SubmittedJob>(from, ...keyed);
    const refused = await migrate(from.dataDir);
    assert.match(refused.stderr, /^mainspring: The data folder .* is in use by another Mainspring server/);
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);

    const running = await submit("sleep", "--payload", '{"ms":4000}');
    const get = (server: Pick<TestServer, "clientEnv">, id: string, ...more: string[]) =>
      runJson<Execution>(server, "executions", "get", id, ...more);
    await until(async () => (await get(from, running.executionId)).state === "RUNNING");

    from.command.signal("SIGKILL");
    await from.command.done;

    const moved = await migrate(from.dataDir);
    assert.deepEqual([moved.stderr, moved.code], ["", 0]);
    assert.match(
      moved.stdout,
      /^TABLE +ROWS\n[^]*\nexecutions +7\n[^]*MAINSPRING_STORE=postgres:\/\/mainspring:hidden@/,
    );
    assert.doesNotMatch(moved.stdout, new RegExp(PASSWORD));

    const command = serveOn(from.dataDir, { MAINSPRING_STORE: url });
    t.after(() => command.signal("SIGKILL"));
    const [, httpUrl = ""] = await command.says(/api +(http:\S+)[^]*curl/);
    const to = { clientEnv: { MAINSPRING_URL: httpUrl } };
    assert.deepEqual(await get(to, done.executionId), done);
    assert.deepEqual(await get(to, dead.executionId), dead);
    assert.equal((await get(to, running.executionId, "--wait")).state, "SUCCEEDED");
    assert.equal((await get(to, soon.executionId, "--wait")).result, "soon");
    assert.equal((await get(to, later.executionId)).state, "PENDING");
    assert.equal((await runJson<SubmittedJob>(to, ...keyed)).executionId, kept.executionId);
    assert.equal((await get(to, held.executionId)).state, "PENDING");
    assert.match((await mainspring(["pools", "get", "held"], { env: to.clientEnv })).stdout, /state +PAUSED/);

    const taken = await migrate(from.dataDir);
    assert.match(taken.stderr, /^mainspring: Another Mainspring server .* uses this database/);
    command.signal("SIGTERM");
    assert.equal((await command.done).code, 0);
    const full = await migrate(from.dataDir);
    assert.match(full.stderr, /^mainspring: The target already has tables of Mainspring/);
    assert.deepEqual([taken.code, full.code], [1, 1]);
  });

  it("makes no store where there is none to move, and says what --to takes", async () => {
    const empty = await mkdtemp(join(folder, "empty-"));
    const nothing = await migrate(empty);
    assert.match(nothing.stderr, /^mainspring: The data folder .* has no embedded store in it/);
    assert.equal(nothing.code, 1);
    assert.deepEqual(await readdir(empty), []);
    const wrong = await mainspring(["migrate", "--to", "embedded"]);
    assert.match(wrong.stderr, /postgres:\/\/user:password@host:5432\/database/);
    assert.equal(wrong.code, 2);
    const standby = await mainspring([
      "migrate",
      "--to",
      "postgres://me:hunter2@db1:5432,db2:5432/x?target_session_attrs=any",
    ]);
    assert.match(standby.stderr, /^mainspring: --to must have target_session_attrs=read-write or none/);
    assert.deepEqual([standby.code, standby.stderr.includes("hunter2")], [2, false]);
  });

  it("names the option whose value is no store", async () => {
    const [redis, postgres] = ["redis://127.0.0.1:1", "postgres://127.0.0.1:1/x"];
    const cases: [option: string, args: string[]][] = [
      ["--from", ["--from", "foo", "--to", redis]],
      ["--from", ["--from", "", "--to", redis]],
      ["--from", ["--from", "foo", "--undo"]],
      ["--to", ["--from", postgres, "--to", "redis:/"]],
      ["--to", ["--from", redis, "--to", "foo"]],
    ];
    for (const [option, args] of cases) {
      const { code, stderr } = await mainspring(["migrate", ...args]);
      assert.match(stderr, new RegExp(`^mainspring: ${option} must `), args.join(" "));
      assert.doesNotMatch(stderr, /MAINSPRING_STORE/);
      assert.equal(code, 2, stderr);
    }
  });
});
