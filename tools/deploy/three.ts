import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import process from "node:process";
import { newAuthority } from "../services/certificates.ts";
import { builtHelm } from "./chart.ts";
import { buildImage } from "./image.ts";
import { NETWORK_OF_HOST } from "./machine.ts";
import { judgeChart, judgeCompose } from "./three/in-containers.ts";
import { outcomeText } from "./three/judge.ts";
import { connect, makeLan } from "./three/lan.ts";
import { judgeUnits } from "./three/units.ts";

/** Ways from nothing to three nodes. */
export const WAYS = ["systemd", "image", "chart"] as const;
export type Way = (typeof WAYS)[number];

/** Folder of the run, which the process in the namespaces gets from the one outside. */
const FOLDER = "MAINSPRING_DEPLOY_FOLDER";
/** Jobs that are accepted before and after each event, at least. */
const JOBS = 100;

/**
 * Deploys three nodes and a worker in production form, and judges them, one way after the other. It runs in namespaces of its own, whose
 * network connects the machines: `systemd` installs the units on three machines, `image` runs what the Compose file says with the files of the
 * image, and `chart` what the objects of the Helm chart say. Needs root, and the registries of npm and, for the chart, of Go.
 * @throws the judge found a fault
 */
export async function tryThree(ways: readonly Way[]): Promise<void> {
  const folder = process.env[FOLDER];
  if (folder === undefined) return await inNamespaces(ways);
  await makeLan();
  if (ways.includes("systemd")) say("systemd", outcomeText(await judgeUnits(folder, JOBS)));
  if (!ways.some((way) => way !== "systemd")) return;
  const image = await buildImage();
  try {
    await connect(image.machine, null);
    if (ways.includes("image")) say("image", outcomeText(await judgeCompose(image, folder, JOBS)));
    if (ways.includes("chart")) say("chart", outcomeText(await judgeChart(image, folder, JOBS)));
  } finally {
    await image.machine.stop();
  }
}

function say(way: Way, text: string): void {
  console.log(`\nthree nodes by ${way}: ${text}`);
}

/** Runs this program again in a new network, in which it can name hosts and trust an authority of its own. */
async function inNamespaces(ways: readonly Way[]): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error("only root can make namespaces");
  const folder = mkdtempSync("/var/tmp/mainspring-three-");
  try {
    const { certFile } = await newAuthority(folder, "ca");
    // The namespaces do not reach the registry of Go.
    if (ways.includes("chart")) await builtHelm();
    const env = {
      ...process.env,
      [FOLDER]: folder,
      [NETWORK_OF_HOST]: `/proc/${process.pid}/ns/net`,
      NODE_EXTRA_CA_CERTS: certFile,
    };
    const program = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
    const child = spawn("unshare", ["--net", "--mount", ...program], { env, stdio: "inherit" });
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) throw new Error(`the trial ended with ${code}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
