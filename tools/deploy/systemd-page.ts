import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { packPackages } from "../pack/pack-packages.ts";
import { PUBLISHED } from "../pack/published.ts";
import { Machine } from "./machine.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PAGE = join(ROOT, "docs/deploy/systemd.md");
const INSTALL = "npm install --global --prefix /usr/local";
const FENCE = /^```sh no-run\n([^]*?)^```$/gm;
const UNITS = "mainspring.service mainspring-worker@reports.service";

/**
 * Follows docs/deploy/systemd.md on a systemd of its own, command by command, with the packages of this tree instead of the published ones.
 * Needs systemd 250 or newer, and the registry of npm.
 * @throws a command failed, or did not do what the page says
 */
export async function trySystemdPage(): Promise<void> {
  // The machine has its own /tmp, so the files are elsewhere.
  const folder = mkdtempSync("/var/tmp/mainspring-deploy-");
  packPackages(PUBLISHED, folder, null);
  cpSync(join(ROOT, "deploy/systemd"), folder, { recursive: true });
  cpSync(process.execPath, join(folder, "node"));
  const machine = await Machine.withSystemd();
  try {
    await machine.run(`cp ${folder}/node /usr/local/bin/node`);
    const printed = await follow(machine, folder);
    assert.equal(
      printed.match(/state +SUCCEEDED/g)?.length,
      3,
      "jobs of the server, of the worker and after the restart ran",
    );
    assert.match(printed, /Status: "serves http:\/\/127\.0\.0\.1:8080/, "the server reported that it is ready");
    const stopped = "Result=success\nExecMainStatus=0\nActiveState=inactive";
    const ends = await machine.run(`systemctl show --property Result,ExecMainStatus,ActiveState ${UNITS}`);
    assert.equal(ends.trim(), `${stopped}\n\n${stopped}`, "both stopped by themselves");
  } finally {
    await machine.stop();
    rmSync(folder, { recursive: true });
  }
}

/** Runs the page's blocks in order. @returns what they print */
async function follow(machine: Machine, folder: string): Promise<string> {
  const outputs: string[] = [];
  for (const [, block = ""] of readFileSync(PAGE, "utf8").matchAll(FENCE)) {
    outputs.push(await runBlock(machine, folder, block));
  }
  return outputs.join("");
}

/**
 * Runs a block of the page on a machine.
 * @param folder folder with the packages of this tree, which are installed instead of the published ones, and with the units
 * @returns what it prints
 */
export async function runBlock(machine: Machine, folder: string, block: string): Promise<string> {
  console.log(`\n$ ${block.trimEnd().replaceAll("\n", "\n$ ")}`);
  const quiet = "--no-audit --no-fund --loglevel=error";
  const commands = block.replace(`${INSTALL} @mainspring/cli`, `${INSTALL} ${quiet} ${folder}/*.tgz`);
  const env = { MAINSPRING_API_KEY_FILE: "/etc/mainspring/secrets/key" };
  const output = await machine.run(commands, { cwd: folder, onNetworkOfHost: commands !== block, env });
  process.stdout.write(output);
  return output;
}
