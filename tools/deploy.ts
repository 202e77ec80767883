import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { SystemdMachine } from "./deploy/systemd-machine.ts";
import { packPackages } from "./pack/pack-packages.ts";
import { PUBLISHED } from "./pack/published.ts";

/**
 * `npm run deploy -- systemd` follows docs/deploy/systemd.md on a systemd of its own, command by command, with the packages of this tree,
 * and fails at the first command that fails. Needs root, systemd 250 or newer, and the registry of npm.
 */

const ROOT = resolve(import.meta.dirname, "..");
const PAGE = join(ROOT, "docs/deploy/systemd.md");
const INSTALL = "npm install --global --prefix /usr/local";
const FENCE = /^```sh no-run\n([^]*?)^```$/gm;

if (process.argv[2] !== "systemd" || process.argv.length > 3) {
  console.error("deploy: say what to try, as: npm run deploy -- systemd");
  process.exit(2);
}
// The machine has its own /tmp, so the files are elsewhere.
const folder = mkdtempSync("/var/tmp/mainspring-deploy-");
packPackages(PUBLISHED, folder, null);
cpSync(join(ROOT, "deploy/systemd"), folder, { recursive: true });
const machine = await SystemdMachine.boot();
try {
  await machine.run(`ln --symbolic --force ${process.execPath} /usr/local/bin/node`);
  const printed = await followPage();
  assert.equal(
    printed.match(/state +SUCCEEDED/g)?.length,
    3,
    "three jobs ran: of the server, of the worker, after the restart",
  );
  assert.match(printed, /Status: "serves http:\/\/127\.0\.0\.1:8080/, "the server reported that it is ready");
  const ends = await machine.run(
    "systemctl show --property Result,ExecMainStatus,ActiveState mainspring.service mainspring-worker@reports.service",
  );
  const stopped = "Result=success\nExecMainStatus=0\nActiveState=inactive";
  assert.equal(ends.trim(), `${stopped}\n\n${stopped}`, "both stopped by themselves");
  console.log("\ndeploy: all commands of the page did what it says");
} finally {
  await machine.stop();
  rmSync(folder, { recursive: true });
}

/** Runs the page's blocks in order. The packages come from this tree instead of the registry. @returns what they printed */
async function followPage(): Promise<string> {
  const blocks = Array.from(readFileSync(PAGE, "utf8").matchAll(FENCE), ([, text = ""]) => text);
  const outputs: string[] = [];
  for (const block of blocks) {
    console.log(`\n$ ${block.trimEnd().replaceAll("\n", "\n$ ")}`);
    const commands = block.replace(
      `${INSTALL} @mainspring/cli`,
      `${INSTALL} --no-audit --no-fund --loglevel=error ${folder}/*.tgz`,
    );
    const key = "export MAINSPRING_API_KEY_FILE=/etc/mainspring/secrets/key";
    const output = await machine.run(`${key}\n${commands}`, { cwd: folder, onNetworkOfHost: commands !== block });
    process.stdout.write(output);
    outputs.push(output);
  }
  return outputs.join("");
}
