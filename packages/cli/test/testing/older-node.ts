import process from "node:process";
import { loadConfig, startNode } from "@mainspring/server";

/** Process of a node of another feature level, which MAINSPRING_TEST_LEVEL sets. Ends on SIGTERM. */

const { MAINSPRING_TEST_LEVEL: level, ...env } = process.env;
try {
  const node = await startNode(loadConfig(env), { version: "0.0.9", level: Number(level) });
  process.once("SIGTERM", () => void node.stop());
  process.stdout.write(`api ${node.httpUrl}\nworkers ${node.grpcAddress}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
