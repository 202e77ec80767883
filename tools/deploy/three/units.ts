import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { until } from "@mainspring/server/testing";
import { packPackages } from "../../pack/pack-packages.ts";
import { PUBLISHED } from "../../pack/published.ts";
import { authorityIn } from "../../services/certificates.ts";
import { Machine } from "../machine.ts";
import { runBlock } from "../systemd-page.ts";
import { type DeployedNode, judge, type Outcome } from "./judge.ts";
import { addressOf, connect, nameHosts, OWN_ADDRESS } from "./lan.ts";
import { startStore } from "./store.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const PAGE = readFileSync(join(ROOT, "docs/deploy/systemd.md"), "utf8");
const UNIT = "mainspring.service";
const WORKER = "mainspring-worker@reports.service";
const PASSWORD = "a-password-of-the-trial";
const KEY = "a-key-for-the-trial-of-three-units";
/** Addresses of the page's three machines. */
const ON_PAGE = ["10.0.0.5", "10.0.0.6", "10.0.0.7"];

/**
 * Installs the units on three machines with a systemd each, as docs/deploy/systemd.md says, with the settings of its section about three nodes,
 * and a worker on the first machine.
 */
export async function judgeUnits(folder: string, jobs: number): Promise<Outcome> {
  const files = mkdtempSync("/var/tmp/mainspring-deploy-");
  packPackages(PUBLISHED, files, null);
  cpSync(join(ROOT, "deploy/systemd"), files, { recursive: true });
  cpSync(process.execPath, join(files, "node"));
  const names = new Map(ON_PAGE.map((_, index) => [`node-${index + 1}`, addressOf(41 + index)]));
  await nameHosts(folder, names);
  const store = await startStore(PASSWORD);
  const machines: Machine[] = [];
  try {
    for (const address of names.values()) {
      const machine = await Machine.withSystemd();
      machines.push(machine);
      await connect(machine, address);
    }
    await Promise.all(machines.map((machine, index) => install(machine, { folder, files, index })));
    await startWorker(machines[0] as Machine, folder);
    const nodes = machines.map((machine, index) => nodeOn(machine, index));
    return await judge(nodes, { apiKey: KEY, jobs, pool: "reports" });
  } finally {
    await Promise.all(machines.map((machine) => machine.stop()));
    await store.stop();
    rmSync(files, { recursive: true });
  }
}

/** Follows the page on a machine, up to a node that is ready. */
async function install(machine: Machine, at: { folder: string; files: string; index: number }): Promise<void> {
  const { folder, files, index } = at;
  await machine.run(`cp ${files}/node /usr/local/bin/node`);
  for (const block of blocksOf("Install", "sh no-run")) await runBlock(machine, files, block);
  const [settings = ""] = blocksOf("Three nodes", "text");
  const own = settings.replaceAll(ON_PAGE[0] ?? "", addressOf(41 + index));
  assert.notEqual(own, settings);
  await machine.write("/etc/mainspring/server.env", own);
  const authority = authorityIn(folder, "ca");
  const issued = await authority.issue(`node-${index + 1}`, [
    ...["URI:mainspring://mainspring/node", `IP:${addressOf(41 + index)}`],
    `DNS:node-${index + 1}`,
  ]);
  const secrets: Record<string, string> = {
    store: `postgres://mainspring:${PASSWORD}@${OWN_ADDRESS}:5432/mainspring`,
    key: KEY,
    cluster: "a-secret-for-the-trial-of-three-units",
    "node.crt": readFileSync(issued.certFile, "utf8"),
    "node.key": readFileSync(issued.keyFile, "utf8"),
    "ca.crt": readFileSync(authority.certFile, "utf8"),
  };
  for (const [name, text] of Object.entries(secrets))
    await machine.write(`/etc/mainspring/secrets/${name}`, text, { mode: "600" });
  await machine.run(`systemctl daemon-reload; systemctl enable --now ${UNIT}`).catch(async (error: unknown) => {
    throw new Error(await machine.run(`systemctl status --no-pager --lines 30 ${UNIT} || true`), { cause: error });
  });
}

async function startWorker(machine: Machine, folder: string): Promise<void> {
  const [, settings = ""] = blocksOf("Three nodes", "text");
  const here = ON_PAGE.reduce((text, address, index) => text.replaceAll(address, addressOf(41 + index)), settings);
  await machine.write("/etc/mainspring/worker.env", here);
  const secrets = { key: KEY, "ca.crt": readFileSync(authorityIn(folder, "ca").certFile, "utf8") };
  for (const [name, text] of Object.entries(secrets))
    await machine.write(`/etc/mainspring/worker-secrets/${name}`, text, { mode: "600" });
  await machine.run(`systemctl enable --now ${WORKER}`);
}

function nodeOn(machine: Machine, index: number): DeployedNode {
  const show = async (property: string) =>
    (await machine.run(`systemctl show --value --property ${property} ${UNIT}`)).trim();
  let isKilled = false;
  return {
    name: `node-${index + 1}`,
    url: `https://node-${index + 1}:8080`,
    async stop() {
      await machine.run(`systemctl stop ${UNIT}`);
      assert.deepEqual([await show("Result"), await show("ExecMainStatus")], ["success", "0"]);
    },
    async kill() {
      isKilled = true;
      await machine.run(`systemctl kill --kill-whom=main --signal=KILL ${UNIT}`);
    },
    async start() {
      if (!isKilled) await machine.run(`systemctl start ${UNIT}`);
      // systemd starts a killed unit again by itself.
      else await until(async () => (await show("NRestarts")) === "1" && (await show("ActiveState")) === "active");
    },
  };
}

/** The blocks of a section of the page with this fence. */
function blocksOf(section: string, fence: string): string[] {
  const [, text = ""] = new RegExp(`^## ${section}\n([^]*?)(?=^## |(?![^]))`, "m").exec(PAGE) ?? [];
  const blocks = Array.from(text.matchAll(/^```([^\n]*)\n([^]*?)^```$/gm), ([, mark, block = ""]) => ({ mark, block }));
  return blocks.flatMap(({ mark, block }) => (mark === fence ? [block] : []));
}
