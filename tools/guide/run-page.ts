import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { startServer, type TestServer } from "../../packages/cli/src/testing/server.ts";
import { EmptyProject, type Ended } from "../pack/empty-project.ts";
import type { Block, Page } from "./blocks.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const SCRIPTS = { mainspring: `node ${join(ROOT, "packages/cli/bin/mainspring.mjs")}` };

/**
 * Does what a page says, from top to bottom, in a folder of its own that has the packages of the repository: `ts` blocks
 * with a name are written down (and run if they are tests), the others run as programs, `sh` blocks by bash.
 * @throws {Error} the first block that fails, with its line and what it printed
 */
export async function runPage({ blocks, needsServer }: Page): Promise<void> {
  const project = await EmptyProject.make();
  let server: TestServer | null = null;
  try {
    await project.write("package.json", JSON.stringify({ private: true, type: "module", scripts: SCRIPTS }));
    await symlink(join(ROOT, "node_modules"), join(project.folder, "node_modules"), "junction");
    if (needsServer) server = await startServer();
    let printed = "";
    for (const block of blocks) {
      if (block.kind === "output")
        assert.equal(printed.trim(), block.text.trim(), `line ${block.line}: the output differs`);
      else printed = await runBlock({ ...block, text: pointedAt(server, block.text) }, project, server);
    }
  } finally {
    await server?.stop();
    await project.remove();
  }
}

async function runBlock(block: Block, project: EmptyProject, server: TestServer | null): Promise<string> {
  const command = await commandOf(block, project);
  if (command === null) return "";
  const [program, ...args] = command;
  const PATH = `${join(ROOT, "node_modules/.bin")}${delimiter}${process.env["PATH"]}`;
  const ended = await project.run(program, args, { PATH, ...server?.clientEnv });
  if (ended.code !== 0) throw new Error(`line ${block.line}: this block failed (${ended.code})\n${said(ended)}`);
  return ended.stdout;
}

/** @returns null: there is nothing to run */
async function commandOf(block: Block, project: EmptyProject): Promise<[string, ...string[]] | null> {
  if (block.kind === "sh") return ["bash", "-euo", "pipefail", "-c", block.text];
  const file = block.file ?? `line-${block.line}.ts`;
  await project.write(file, block.text);
  if (file.endsWith(".test.ts")) return [process.execPath, "--test", file];
  return block.file === null ? [process.execPath, file] : null;
}

/** Pages name the addresses that a server has by default. */
function pointedAt(server: TestServer | null, text: string): string {
  if (server === null) return text;
  const { host } = new URL(server.httpUrl);
  return text.replaceAll("127.0.0.1:8080", host).replaceAll("127.0.0.1:8081", server.grpcAddress);
}

function said({ stdout, stderr }: Ended): string {
  return `${stdout}${stderr}`.trim();
}
