import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startServer } from "../packages/cli/test/testing/server.ts";
import { checkOfMaps } from "./strangers/check-of-maps.ts";
import { CHECK_OF_SERVERS } from "./strangers/check-of-servers.ts";
import { CHECKS_OF_ANSWERS } from "./strangers/checks-of-answers.ts";
import { CHECKS_OF_RUNS } from "./strangers/checks-of-runs.ts";
import { type Check, judge, Site } from "./strangers/site.ts";

/**
 * `npm run strangers`: checks of workflows that somebody who does not know the program can do. Starts a server and the
 * worker of `examples/workflows`, uses them by the command and over HTTP, and prints what it saw. Ends with 1 if anything
 * is not as it should be. `--items N` makes the map of check 3 smaller than 10,000 items. Other tests cover durable steps (number 6 of the checks): they kill the worker of an example.
 */

const { items } = parseArgs({ options: { items: { type: "string", default: "10000" } } }).values;
const CHECKS: readonly Check[] = [
  ...CHECKS_OF_RUNS,
  checkOfMaps(Number(items)),
  ...CHECKS_OF_ANSWERS,
  CHECK_OF_SERVERS,
];

const folder = await mkdtemp(join(tmpdir(), "mainspring-strangers-"));
const server = await startServer();
const site = new Site(server.httpUrl, server.clientEnv, folder);
const worker = site.startWorker();
try {
  await judge(CHECKS, site);
} finally {
  worker.signal("SIGTERM");
  await worker.done;
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
