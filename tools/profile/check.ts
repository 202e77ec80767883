import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { RunningCluster } from "./cluster.ts";
import type { Clusters } from "./differences.ts";
import { endToEndTests } from "./end-to-end.ts";

/** `settings`: those of each node, in which `{space}` stands for the name of a cluster. */
interface Check extends Clusters {
  name: string;
  only: readonly string[];
  cluster: RunningCluster;
  signal: AbortSignal;
}

const DEMO = fileURLToPath(new URL("../demo.ts", import.meta.url));

/** Runs the demo on the cluster, and then the end-to-end tests on clusters of their own on the same servers. @returns exit code */
export async function checkOn(check: Check): Promise<number> {
  const { name, cluster, signal } = check;
  const url = cluster.nodes[0]?.httpUrl ?? "";
  const grpc = cluster.nodes.map(({ grpcAddress }) => grpcAddress).join(",");
  // The demo measures how soon jobs begin, so a part of the tests does not include it.
  const hasDemo = check.only.length === 0;
  if (hasDemo) console.log("\nThe demo:\n");
  const demo = !hasDemo || (await run([DEMO, "--url", url, "--grpc", grpc], {}, signal));
  // The tests start nodes of their own, which get the processor and the connections of PostgreSQL.
  await cluster.stop();
  const tests = endToEndTests(check.only, check);
  console.log(
    `\nThe end-to-end tests (${tests.files.length} files, each on clusters of ${check.nodes} nodes of its own):\n`,
  );
  const env = { MAINSPRING_TEST_PROFILE: JSON.stringify({ settings: check.settings, nodes: check.nodes }) };
  const suite = signal.aborted ? false : await run(tests.args, env, signal);
  for (const { file, test, why } of tests.differences) console.log(`left out: ${test ?? `all of ${file}`}: ${why}`);
  const isGood = demo && suite && !signal.aborted;
  const result = (part: boolean) => (part ? "passed" : "FAILED");
  console.log(
    `\nprofile ${name}: ${hasDemo ? `the demo ${result(demo)}, ` : ""}the end-to-end tests ${result(suite)}.`,
  );
  return isGood ? 0 : 1;
}

/** Runs Node. @returns whether it ended with 0 */
function run(args: readonly string[], more: Record<string, string>, signal: AbortSignal): Promise<boolean> {
  // The runner of tests would otherwise take this for a part of another run.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
  const child = spawn(process.execPath, args, {
    env: { ...inherited, ...more },
    stdio: ["ignore", "inherit", "inherit"],
  });
  signal.addEventListener("abort", () => child.kill("SIGTERM"), { once: true });
  return new Promise((resolve) => {
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}
