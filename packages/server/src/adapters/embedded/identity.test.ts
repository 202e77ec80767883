import assert from "node:assert/strict";
import { chmod, chown, cp, lstat, mkdir, mkdtemp, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, type TestContext } from "node:test";
import { packagedBinaries } from "./binaries.ts";
import { ask, itWhere, newFolder, startProcess, stopProcess } from "./embedded.fixture.ts";

const isRoot = process.getuid?.() === 0;
const itAsRoot = itWhere(isRoot);
/** Only Linux has user namespaces. */
const itAsRootOnLinux = itWhere(isRoot && process.platform === "linux");

/** A user other than root and without a name, as in containers. */
const STRANGER = { uid: 54_321, gid: 54_321 };
const NOBODY = { uid: 65_534, gid: 65_534 };

describe("as whom PostgreSQL runs", () => {
  itAsRootOnLinux("root keeps the files its own", async (t) => {
    const dataDir = join(await newFolder(t), "data");
    const server = await startProcess(t, dataDir);
    assert.ok(server.news.started, server.news.refused);
    assert.equal((await stat(join(dataDir, "postgres", "PG_VERSION"))).uid, 0);
    await stopProcess(server);
  });

  itAsRoot("root takes another user where user namespaces are forbidden", async (t) => {
    const folder = await newFolder(t);
    await chmod(folder, 0o755);
    const dataDir = join(folder, "data");
    await comesAndComesBack(t, dataDir);
    assert.notEqual((await stat(join(dataDir, "postgres"))).uid, 0);
  });

  itAsRoot("root puts the files where that user can reach them", async (t) => {
    const dataDir = join(await newFolder(t), "data");
    await comesAndComesBack(t, dataDir);
    const pgdata = await readlink(join(dataDir, "postgres"));
    assert.notEqual((await stat(pgdata)).uid, 0);
    await rm(dirname(pgdata), { recursive: true });
  });

  itAsRoot(
    "asks other programs of that user for a password, also on a folder that an older version made",
    async (t) => {
      const folder = await newFolder(t);
      await chmod(folder, 0o755);
      const dataDir = join(folder, "data");
      const withoutNamespaces = { env: { PATH: "/nowhere" } };
      const first = await startProcess(t, dataDir, withoutNamespaces);
      assert.ok(first.news.started, first.news.refused);
      const { password, ...stranger } = first.news.started;
      assert.match(password ?? "", /^[0-9a-f]{48}$/);
      const isRefused = { code: "28P01" };
      await assert.rejects(ask({ ...stranger, password: "wrong" }, "select 1"), isRefused);
      assert.equal((await stat(join(dataDir, "password"))).mode & 0o777, 0o600);
      assert.equal((await stat(join(dataDir, "password"))).uid, 0);
      await ask(first.news.started, "create table kept as select 42 as answer");
      await ask(first.news.started, "alter role mainspring password null");
      await stopProcess(first);

      // As an older version leaves the folder.
      await rm(join(dataDir, "password"));
      await writeFile(join(dataDir, "postgres", "pg_hba.conf"), "local all all trust\n");
      const second = await startProcess(t, dataDir, withoutNamespaces);
      assert.ok(second.news.started, second.news.refused);
      assert.deepEqual(await ask(second.news.started, "select answer from kept"), [42]);
      await assert.rejects(ask({ ...stranger, password: password ?? "" }, "select 1"), isRefused);
      await stopProcess(second);
    },
  );

  describe("a normal user", () => {
    let workDir: string;
    let how: { sources: string; binaries: string; node: string };
    before(async () => {
      if (!isRoot) return;
      workDir = await mkdtemp(join(tmpdir(), "embedded-copy-"));
      await chmod(workDir, 0o755);
      how = await copyOfServer(workDir);
    });
    after(() => isRoot && rm(workDir, { recursive: true, force: true }));

    itAsRoot("needs none of that, nor the links that npm did not make", async (t) => {
      const folder = await folderOf(t, NOBODY);
      const server = await startProcess(t, join(folder, "data"), { ...how, ...NOBODY });
      assert.ok(server.news.started, server.news.refused);
      assert.equal((await stat(join(folder, "data", "postgres"))).uid, NOBODY.uid);
      await stopProcess(server);
      await assert.rejects(stat(join(how.binaries, "lib", "libpq.so.5")), { code: "ENOENT" });
    });

    itAsRootOnLinux("without a name gets one", async (t) => {
      const server = await startProcess(t, join(await folderOf(t, STRANGER), "data"), { ...how, ...STRANGER });
      assert.ok(server.news.started, server.news.refused);
      await stopProcess(server);
    });

    itAsRoot("who does not own the folder is told so", async (t) => {
      const dataDir = join(await folderOf(t, NOBODY), "data");
      await mkdir(join(dataDir, "postgres"), { recursive: true, mode: 0o700 });
      await chown(dataDir, NOBODY.uid, NOBODY.gid);
      const server = await startProcess(t, dataDir, { ...how, ...NOBODY });
      assert.match(server.news.refused ?? "", /StoreUnusable.*as the user who owns it/);
    });
  });
});

/** Starts first without namespaces, then with them: the existing files decide which identity is used. */
async function comesAndComesBack(t: TestContext, dataDir: string): Promise<void> {
  const first = await startProcess(t, dataDir, { env: { PATH: "/nowhere" } });
  assert.ok(first.news.started, first.news.refused);
  await ask(first.news.started, "create table kept as select 42 as answer");
  await stopProcess(first);
  const second = await startProcess(t, dataDir);
  assert.ok(second.news.started, second.news.refused);
  assert.deepEqual(await ask(second.news.started, "select answer from kept"), [42]);
  await stopProcess(second);
}

async function folderOf(t: TestContext, user: { uid: number; gid: number }): Promise<string> {
  const folder = await newFolder(t);
  await chown(folder, user.uid, user.gid);
  return folder;
}

/** Copies the files that a server needs, without symlinks, because this clone may lie where only root has access. */
async function copyOfServer(folder: string): Promise<{ sources: string; binaries: string; node: string }> {
  const copies = { sources: join(folder, "src"), binaries: join(folder, "native"), node: join(folder, "node") };
  for (const part of ["adapters/embedded", "adapters/system", "ports", "domain"]) {
    await cp(new URL(`../../${part}`, import.meta.url), join(copies.sources, part), { recursive: true });
  }
  const isPlain = async (path: string) => !(await lstat(path)).isSymbolicLink();
  await cp(packagedBinaries(), copies.binaries, { recursive: true, filter: isPlain });
  await cp(process.execPath, copies.node);
  return copies;
}
