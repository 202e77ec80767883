import assert from "node:assert/strict";
import { chmod, cp, mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { StoreUnusable } from "../../ports/store.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { ask, itWhere, newFolder, snapshot, startProcess, stopProcess, whileServing } from "./embedded.fixture.ts";
import type { EmbeddedPostgres } from "./embedded-postgres.ts";

function serve<T>(dataDir: string, use: (embedded: EmbeddedPostgres) => Promise<T>): Promise<T> {
  return whileServing(dataDir, systemRuntime(), use);
}

const itOnUnix = itWhere(process.platform !== "win32");

/** Starts and stops the server. */
const serveOnce = (dataDir: string) => serve(dataDir, async () => {});

describe("the embedded PostgreSQL", () => {
  let workDir: string;
  let template: string;

  before(async () => {
    workDir = await mkdtemp(join(tmpdir(), "embedded-template-"));
    template = join(workDir, "data");
    await serveOnce(template);
  });
  after(() => rm(workDir, { recursive: true, force: true }));

  it("makes its data folder on the first start, and finds its data on the second", async (t) => {
    const dataDir = join(await newFolder(t), "not", "there", "yet");
    await serve(dataDir, ({ connection }) => ask(connection, "create table kept as select 42 as answer"));
    await serve(dataDir, async (again) => {
      assert.deepEqual(await ask(again.connection, "select answer from kept"), [42]);
      await again.stop();
    });
    // `lib` holds links that the npm package's install script creates if it may run.
    const made = (await readdir(dataDir)).filter((name) => name !== "lib").sort();
    assert.deepEqual(made, ["lock", "postgres", "postgres.log", "socket"]);
  });

  it("is a real PostgreSQL 18 with UTF8, bytewise order and durable commits", async () => {
    await serve(template, async ({ connection }) => {
      const names = ["server_encoding", "fsync", "synchronous_commit", "data_checksums", "listen_addresses", "jit"];
      const asked = names.map((name) => `current_setting('${name}')`).join(", ");
      assert.deepEqual(await ask(connection, `select ${asked}`), ["UTF8", "on", "on", "on", "", "off"]);
      assert.match(String(await ask(connection, "show server_version")), /^18/);
      const sql = "select datcollate from pg_database where datname = current_database()";
      assert.deepEqual(await ask(connection, sql), ["C"]);
    });
  });

  itOnUnix("listens on a socket in a folder that nobody else can enter", async () => {
    await serve(template, async ({ connection: { host } }) => {
      assert.equal((await stat(host)).mode & 0o777, 0o700);
      assert.ok((await stat(join(host, ".s.PGSQL.5432"))).isSocket());
    });
  });

  itOnUnix("takes a private folder with a short name where the path is too long for a socket", async (t) => {
    const dataDir = join(await newFolder(t), "d".repeat(90));
    await cp(template, dataDir, { recursive: true });
    const host = await serve(dataDir, async ({ connection }) => {
      assert.ok(!connection.host.startsWith(dataDir) && connection.host.length < 90, connection.host);
      assert.equal((await stat(connection.host)).mode & 0o777, 0o700);
      assert.deepEqual(await ask(connection, "select 1"), [1]);
      return connection.host;
    });
    await assert.rejects(stat(host), { code: "ENOENT" });
    // The link to the folder still exists, and must not be trusted.
    await serveOnce(dataDir);
  });

  itOnUnix("lives with spaces, commas and quotes in the path", async (t) => {
    const dataDir = join(await newFolder(t), `a, b "c" 'd' é $HOME`);
    await serve(dataDir, async ({ connection }) => assert.deepEqual(await ask(connection, "select 1"), [1]));
  });

  it("is started by one server at a time", async (t) => {
    await serve(template, async ({ connection }) => {
      const message = new RegExp(`is in use by .*process ${process.pid}`);
      await assert.rejects(serveOnce(template), { name: "StoreUnusable", message });
      const other = await startProcess(t, template);
      assert.match(other.news.refused ?? "", message);
      assert.deepEqual(await ask(connection, "select 1"), [1]);
    });
    await serveOnce(template);
  });

  it("lets exactly one of many servers that start at once have a new folder", async (t) => {
    const dataDir = join(await newFolder(t), "data");
    const all = await Promise.all(Array.from({ length: 4 }, () => startProcess(t, dataDir)));
    const [winner, ...more] = all.filter(({ news }) => news.started !== undefined);
    assert.ok(winner !== undefined && more.length === 0);
    for (const { news } of all) if (news.refused !== undefined) assert.match(news.refused, /is in use by/);
    await stopProcess(winner);
  });

  it("takes a folder whose making was cut short for none", async (t) => {
    const dataDir = join(await newFolder(t), "data");
    await mkdir(join(dataDir, "postgres.new-abc", "base"), { recursive: true });
    await writeFile(join(dataDir, "postgres.new-abc", "PG_VERSION"), "18\n");
    await serveOnce(dataDir);
    assert.ok(!(await readdir(dataDir)).includes("postgres.new-abc"));
  });

  describe("refuses, and leaves as it was, a folder", () => {
    const damages: [string, RegExp, (pgdata: string) => Promise<unknown>][] = [
      ["of a newer version", /newer than the 18.*Update/, (pgdata) => writeFile(join(pgdata, "PG_VERSION"), "19\n")],
      ["of an older version", /made by PostgreSQL 17.*dump/, (pgdata) => writeFile(join(pgdata, "PG_VERSION"), "17\n")],
      ["without a version", /PG_VERSION.*backup/, (pgdata) => rm(join(pgdata, "PG_VERSION"))],
      ["that Mainspring did not make", /did not make/, (pgdata) => rm(join(pgdata, "MAINSPRING"))],
      ["that lacks a part", /pg_xact missing.*backup/, (pgdata) => rm(join(pgdata, "pg_xact"), { recursive: true })],
      ["with a damaged control file", /global\/pg_control.*backup/, async () => {}],
    ];
    for (const [name, message, damage] of damages) {
      it(name, async (t) => {
        const dataDir = join(await newFolder(t), "data");
        const pgdata = join(dataDir, "postgres");
        await feignCluster(pgdata);
        await damage(pgdata);
        const before = await snapshot(pgdata);
        await assert.rejects(serveOnce(dataDir), (error) => {
          assert.ok(error instanceof StoreUnusable);
          assert.match(error.message, message);
          return true;
        });
        assert.deepEqual(await snapshot(pgdata), before);
      });
    }

    it("whose path is a file", async (t) => {
      const path = join(await newFolder(t), "file");
      await writeFile(path, "");
      await assert.rejects(serveOnce(path), { name: "StoreUnusable", message: /cannot be made or opened/ });
    });
  });
});

/** Creates a folder that looks like a cluster from outside. Only PostgreSQL detects its empty control file. */
async function feignCluster(pgdata: string): Promise<void> {
  for (const name of ["base", "global", "pg_wal", "pg_xact"]) {
    await mkdir(join(pgdata, name), { recursive: true, mode: 0o700 });
  }
  await chmod(pgdata, 0o700);
  const files = { PG_VERSION: "18\n", MAINSPRING: "", "postgresql.conf": "", "global/pg_control": "" };
  for (const [name, text] of Object.entries(files)) await writeFile(join(pgdata, name), text);
}
