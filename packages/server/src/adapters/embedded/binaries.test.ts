import assert from "node:assert/strict";
import { mkdir, readlink, symlink, writeFile } from "node:fs/promises";
import { basename, delimiter, join } from "node:path";
import { describe, it } from "node:test";
import { majorVersion, packagedBinaries, readyBinaries } from "./binaries.ts";
import { itWhere, newFolder } from "./embedded.fixture.ts";

const itOnLinux = itWhere(process.platform === "linux");

describe("the binaries", () => {
  it("come with npm for this platform", async (t) => {
    const binaries = await readyBinaries(packagedBinaries(), join(await newFolder(t), "links"));
    assert.equal(basename(binaries.root), "native");
  });

  it("say what to do on a platform that has none", () => {
    const message = /freebsd-riscv64.*MAINSPRING_STORE=postgres:/;
    assert.throws(() => packagedBinaries("freebsd", "riscv64"), { name: "StoreUnusable", message });
  });

  itOnLinux("say what to do where their loader is missing", async (t) => {
    const root = await newFolder(t);
    await mkdir(join(root, "bin"));
    // As on musl: the program exists, but its loader does not.
    await writeFile(join(root, "bin", "postgres"), "#!/lib64/ld-not-there\n", { mode: 0o755 });
    const message = /no glibc.*MAINSPRING_STORE=postgres:/;
    await assert.rejects(majorVersion(await readyBinaries(root, "")), { name: "StoreUnusable", message });
  });

  it("are left alone when links are missing: those are made elsewhere, also over outdated ones", async (t) => {
    const folder = await newFolder(t);
    const [root, links] = [join(folder, "native"), join(folder, "links")];
    await mkdir(root);
    await mkdir(links);
    await symlink("/outdated", join(links, "libx.so.1"));
    const packaged = [{ source: "native/lib/libx.so.1.2", target: "native/lib/libx.so.1" }];
    await writeFile(join(root, "pg-symlinks.json"), JSON.stringify(packaged));
    const { env } = await readyBinaries(root, links);
    assert.deepEqual(Object.values(env), [`${links}${delimiter}${join(root, "lib")}`]);
    assert.equal(await readlink(join(links, "libx.so.1")), join(root, "lib", "libx.so.1.2"));
  });
});
