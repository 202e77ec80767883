import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { TestCluster } from "../../packages/cli/test/testing/cluster.ts";
import { startServer, type TestServer } from "../../packages/cli/test/testing/server.ts";
import { EmptyProject, type Ended } from "../pack/empty-project.ts";
import { startRedis, type TestRedis } from "../services/start-redis.ts";
import { freeAddresses } from "./addresses.ts";
import type { Block, Page } from "./blocks.ts";
import { linkModules } from "./modules.ts";
import { Terminal } from "./terminal.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const MAINSPRING = `node ${join(ROOT, "packages/cli/bin/mainspring.mjs")}`;
const SCRIPTS = { mainspring: MAINSPRING, start: `${MAINSPRING} serve` };
/** Address of a Redis in the pages. */
const REDIS = "redis://127.0.0.1:6379";
/** File in which a block's shell saves its variables for the next block, as if both were typed into one terminal. */
const KEPT = ".kept-by-the-shell";
const SHELL = `set -a; if [ -f ${KEPT} ]; then . ./${KEPT}; fi; trap '{ export -p; declare -f; } > ${KEPT}' EXIT\n`;

interface Surroundings {
  project: EmptyProject;
  /** Server of the page; null: the page needs none. */
  server: TestServer | null;
  /** PostgreSQL of the page; null: the page needs none. */
  postgres: TestCluster | null;
  /** Redis of the peers' programs; null: the page needs none. */
  redis: TestRedis | null;
  /** Addresses in the page, and their replacements here. */
  names: ReadonlyMap<string, string>;
  terminals: { block: Block; terminal: Terminal }[];
}

/**
 * Runs a page from top to bottom, in a folder of its own with the packages of the repository: `ts` blocks with a name
 * are written to files (and run if they are tests), others run as programs, and bash runs `sh` blocks. The data folder
 * of the page's server is `data` in it.
 * @param withPeers whether programs of other systems (`peer`) run, too, on real servers of theirs; default: no
 * @throws {Error} the first block that fails, with its line and its output
 */
export async function runPage({ blocks: all, needsServer, needsPostgres }: Page, withPeers = false): Promise<void> {
  const blocks = all.filter(({ needsPeers }) => withPeers || !needsPeers);
  const project = await EmptyProject.make();
  const here: Surroundings = { project, server: null, postgres: null, redis: null, names: new Map(), terminals: [] };
  try {
    await project.write("package.json", JSON.stringify({ private: true, type: "module", scripts: SCRIPTS }));
    await linkModules(project.folder, withPeers);
    if (blocks.some(({ text }) => text.includes(REDIS))) here.redis = await startRedis();
    if (needsServer) here.server = await startServer();
    if (here.server !== null) await symlink(here.server.dataDir, join(project.folder, "data"), "junction");
    if (needsPostgres) await findDatabase(here, blocks);
    await runBlocks(blocks, here);
  } finally {
    await closeAll(here);
  }
}

async function findDatabase(here: Surroundings, blocks: readonly Block[]): Promise<void> {
  here.postgres = await TestCluster.open();
  here.names = await freeAddresses(blocks.map(({ text }) => text));
}

async function runBlocks(blocks: readonly Block[], here: Surroundings): Promise<void> {
  let printed = "";
  for (const block of blocks) {
    if (block.kind === "output")
      assert.equal(printed.trim(), block.text.trim(), `line ${block.line}: the output differs`);
    else printed = await runBlock({ ...block, text: pointedAt(here, block.text) }, here);
  }
  for (const { block, terminal } of here.terminals.splice(0).reverse()) judge(block, await terminal.close());
}

async function runBlock(block: Block, here: Surroundings): Promise<string> {
  const { project } = here;
  const command = await commandOf(block, project);
  if (command === null) return "";
  const [program, ...args] = command;
  if (block.inBackground) {
    here.terminals.push({ block, terminal: new Terminal(project.start(program, args, environment(here))) });
    return "";
  }
  const ended = await project.run(program, args, environment(here));
  if (ended.code === null) throw new Error(`line ${block.line}: this block did not end\n${said(ended)}`);
  judge(block, ended);
  return ended.stdout;
}

function environment({ server }: Surroundings): Record<string, string> {
  const PATH = `${join(ROOT, "node_modules/.bin")}${delimiter}${process.env["PATH"]}`;
  if (server === null) return { PATH };
  // A server that the page starts replaces the one that the page has stopped.
  const addresses = { MAINSPRING_HTTP: new URL(server.httpUrl).host, MAINSPRING_GRPC: server.grpcAddress };
  return { PATH, MAINSPRING_LOG_LEVEL: "warn", ...addresses, ...server.clientEnv };
}

/** @returns command of a block; null: there is nothing to run */
async function commandOf(block: Block, project: EmptyProject): Promise<[string, ...string[]] | null> {
  if (block.kind === "sh")
    return ["bash", "--norc", "-euo", "pipefail", "-c", block.inBackground ? block.text : SHELL + block.text];
  const file = block.file ?? `line-${block.line}.ts`;
  await project.write(file, block.text);
  if (file.endsWith(".test.ts")) return [process.execPath, "--test", file];
  return block.file === null ? [process.execPath, file] : null;
}

/**
 * Replaces addresses in a text: pages use the default addresses of a server, or addresses and a database of their own.
 */
function pointedAt({ server, postgres, redis, names }: Surroundings, original: string): string {
  const text = redis === null ? original : original.replaceAll(REDIS, redis.url);
  if (postgres !== null) {
    const here = text.replace(/\bpostgres:\/\/[^'"\s]+/g, postgres.storeUrl);
    return here.replace(/\b127\.0\.0\.1:\d+/g, (address) => names.get(address) ?? address);
  }
  if (server === null) return text;
  const { host } = new URL(server.httpUrl);
  return text.replaceAll("127.0.0.1:8080", host).replaceAll("127.0.0.1:8081", server.grpcAddress);
}

/** Closes everything that a failed block left open. A resource that cannot be closed does not keep the others open. */
async function closeAll({ project, server, postgres, redis, terminals }: Surroundings): Promise<void> {
  await using closing = new AsyncDisposableStack();
  // Resources close in the reverse order of their creation.
  closing.defer(() => project.remove());
  closing.defer(() => postgres?.close());
  closing.defer(() => redis?.stop());
  closing.defer(() => server?.stop());
  for (const { terminal } of terminals) closing.defer(async () => void (await terminal.close()));
}

/** @throws {Error} the block failed */
function judge({ line }: Block, ended: Ended): void {
  if (ended.code !== 0 && ended.code !== null)
    throw new Error(`line ${line}: this block failed (${ended.code})\n${said(ended)}`);
}

function said({ stdout, stderr }: Ended): string {
  return `${stdout}${stderr}`.trim();
}
