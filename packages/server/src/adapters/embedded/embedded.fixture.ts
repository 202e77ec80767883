import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { it, type TestContext } from "node:test";
import pg from "pg";
import { pino } from "pino";
import type { Runtime } from "../../ports/runtime.ts";
import { type EmbeddedPostgres, startEmbedded } from "./embedded-postgres.ts";

/** `it` for some machines. On other machines the test does not exist, which is different from a skipped test. */
export function itWhere(applies: boolean): (name: string, body: (t: TestContext) => Promise<void>) => void {
  return (name, body) => {
    if (applies) void it(name, body);
  };
}

/** A new folder that every user may enter, removed after the test. */
export async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "embedded-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A data folder that has been served before: a copy of `template`, because creating a new one takes longer. */
export async function oldFolder(t: TestContext, template: string): Promise<string> {
  const dataDir = join(await newFolder(t), "data");
  await cp(template, dataDir, { recursive: true });
  return dataDir;
}

/** Serves `dataDir` while `use` runs. */
export async function whileServing<T>(
  dataDir: string,
  runtime: Runtime,
  use: (embedded: EmbeddedPostgres) => Promise<T>,
): Promise<T> {
  const embedded = await startEmbedded({ dataDir, runtime, log: pino({ level: "silent" }) });
  try {
    return await use(embedded);
  } finally {
    await embedded.stop();
  }
}

/** Runs one query over a connection of its own. */
export async function ask(connection: EmbeddedPostgres["connection"], sql: string): Promise<unknown[]> {
  const client = new pg.Client(connection);
  // A broken connection reports further errors after its query has failed.
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: "array" })).rows.flat();
  } finally {
    await client.end();
  }
}

/** All files below a folder, with attributes that show whether they were changed. */
export async function snapshot(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const facts = await Promise.all(
    paths.map(async (path) => {
      const { size, mtimeMs, ino } = await stat(path);
      return [path, `${size} ${mtimeMs} ${ino}`] as const;
    }),
  );
  return Object.fromEntries(facts.sort());
}

/** A server in a process of its own: its first message, and the process. */
export interface ServerProcess {
  readonly child: ChildProcess;
  readonly news: {
    readonly started?: EmbeddedPostgres["connection"];
    readonly pid?: number;
    readonly refused?: string;
  };
}

const SOURCE = `
  const [sources, dataDir, binaries] = process.argv.slice(1);
  const { startEmbedded } = await import(sources + "/adapters/embedded/embedded-postgres.ts");
  const { systemRuntime } = await import(sources + "/adapters/system/system-runtime.ts");
  const log = { info() {}, warn() {}, error() {} };
  const say = (news) => console.log(JSON.stringify(news));
  try {
    const options = { dataDir, log, runtime: systemRuntime(), ...(binaries ? { binaries } : {}) };
    const embedded = await startEmbedded(options);
    say({ started: embedded.connection, pid: embedded.pid });
    process.stdin.on("end", () => embedded.stop()).resume();
  } catch (error) {
    say({ refused: error.name + ": " + error.message });
  }
`;

/** Options for a server process that differs from this process. */
export interface Circumstances {
  readonly uid?: number;
  readonly gid?: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly node?: string;
  /** The server's `src` folder, as a URL or a path. */
  readonly sources?: string;
  readonly binaries?: string;
}

/**
 * Starts a server process and waits for its first message. The process stops when its stdin ends, and after the test.
 */
export async function startProcess(t: TestContext, dataDir: string, how: Circumstances = {}): Promise<ServerProcess> {
  const { node = process.execPath, sources = new URL("../..", import.meta.url).pathname, binaries = "", ...as } = how;
  const args = ["--input-type=module", "-e", SOURCE, sources.replace(/\/$/, ""), dataDir, binaries];
  const child = spawn(node, args, { stdio: ["pipe", "pipe", "inherit"], cwd: "/", ...as });
  t.after(() => child.kill("SIGKILL"));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { child, news: JSON.parse(line) };
}

/** Stops a server process in an orderly way. */
export async function stopProcess({ child }: ServerProcess): Promise<void> {
  const exit = once(child, "exit");
  child.stdin?.end();
  assert.deepEqual(await exit, [0, null]);
}

/** Kills a server process, as a power cut would. */
export async function killProcess({ child }: ServerProcess): Promise<void> {
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

/** Id of the shell that would stop `postmaster`, so that a test can kill the shell. Linux only. */
export async function watchdogOf(postmaster: number): Promise<number> {
  for (const entry of await readdir("/proc")) {
    const command = await readFile(`/proc/${entry}/cmdline`, "utf8").catch(() => "");
    if (command.includes(`mainspring-watchdog\0${postmaster}\0`)) return Number(entry);
  }
  throw new Error(`no watchdog of ${postmaster}`);
}
