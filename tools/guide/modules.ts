import { mkdir, readdir, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");
const PEERS = join(ROOT, "packages/bench/peers");
/** Packages that programs of other systems import. Each of them finds its own dependencies beside itself. */
const PEER_PACKAGES = ["bullmq", "graphile-worker", "pg-boss"];

/** Gives the programs of a folder the packages of the repository, and if wanted those of the peers. */
export async function linkModules(folder: string, withPeers: boolean): Promise<void> {
  const modules = join(folder, "node_modules");
  if (!withPeers) return symlink(join(ROOT, "node_modules"), modules, "junction");
  await mkdir(modules);
  const link = (from: string, name: string) =>
    symlink(join(from, "node_modules", name), join(modules, name), "junction");
  const own = await readdir(join(ROOT, "node_modules"));
  await Promise.all([...own.map((name) => link(ROOT, name)), ...PEER_PACKAGES.map((name) => link(PEERS, name))]);
}
