import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { sleep, until } from "../clock.ts";
import { ACTIONS, OUTAGE_MS } from "../drill/actions.ts";
import { everythingIsInPlace } from "../drill/drill-run.ts";
import { type ClusterEnvironment, openCluster } from "../environment/cluster.ts";
import { unpackRelease } from "../environment/release.ts";
import { COMMAND } from "../environment/server.ts";
import { note, tell } from "../faults/cluster/nodes.ts";
import { judge } from "../judge/judge.ts";
import { type Outcome, play, type Report, type Telling } from "../play.ts";
import { settle } from "../settle.ts";
import { warmUp } from "../warm-up.ts";
import { SINGLE_KEY, StoreKeyTrial } from "./store-key-trial.ts";

interface UpgradeOptions extends Telling {
  /** Commit of the first release. */
  from: string;
  /** Jobs a second of each of the two clients. */
  rate: number;
  /** Time under load between two steps, in milliseconds. */
  betweenMs: number;
}

const NODES = 3;
const SAME_LEVEL_WITHIN_MS = 60_000;

/**
 * Upgrades a cluster under load: one node after the other, its workers too, and then its store, which moves to its own
 * schema while all nodes are stopped. All have one API key, which stays good, and keys of the store come beside it. Applications submit in transactions of their own from the first upgraded node on. No job may be lost, fail or run twice.
 * @throws {Error} something did not recover in time; the message names the folder with the logs
 */
export function upgradeRun({ from, rate, betweenMs, ...telling }: UpgradeOptions): Promise<Report> {
  // Every node, worker and client inherits the key.
  process.env.MAINSPRING_API_KEY = SINGLE_KEY;
  return play("upgrade", telling, async (context) => {
    const release = await unpackRelease(from, join(context.folder, "release"));
    const environment = await openCluster({ ...context, nodes: NODES, steadyRate: rate, release });
    try {
      await warmUp(environment);
      environment.say("under load");
      return await upgraded(environment, betweenMs);
    } finally {
      await environment.close();
    }
  });
}

async function upgraded(environment: ClusterEnvironment, betweenMs: number): Promise<Outcome> {
  await everythingIsInPlace(environment);
  const levels = [await levelOf(environment)];
  const trial = new StoreKeyTrial(environment.nodes.map(({ server }) => server.httpUrl));
  for (const [index, node] of environment.nodes.entries()) {
    node.server.upgrade();
    await ACTIONS.RESTART.perform(environment, node, OUTAGE_MS);
    await everythingIsInPlace(environment);
    levels.push(await levelOf(environment));
    if (index < NODES - 1) await trial.isTooEarly(node.server.httpUrl);
    // The first node of this release has brought the functions for submits in transactions of applications.
    if (environment.applications.historyFiles.length === 0) environment.applications.hire();
    await sleep(betweenMs);
  }
  environment.say(`feature level of the cluster: ${levels.join(", ")}`);
  await until("the cluster has one level", SAME_LEVEL_WITHIN_MS, async () =>
    (await levelOf(environment)) > (levels[0] ?? 0) ? true : null,
  );
  await trial.create();
  const schemas = [await schemaOf(environment)];
  await moveStore(environment);
  schemas.push(await schemaOf(environment));
  await trial.areGood();
  await sleep(betweenMs);
  environment.say(`API keys: ${trial.told.join("; ")}`);
  environment.say(`schema of the store: ${schemas.join(", ")}`);
  const { violations, figures } = judge(await settle(environment, { SERVER_RESTARTED: 2 * NODES }, null), "drill");
  const isMoved = schemas.join() === "public,mainspring";
  const rule = "a store stays where it is until it is moved";
  const stray = isMoved ? [] : [{ rule, what: `the store was in ${schemas.join(", then in ")}` }];
  return { violations: [...violations, ...stray, ...trial.violations], figures };
}

/** Stops all nodes, moves the store, and restarts the nodes. Workers and clients go on. */
async function moveStore(environment: ClusterEnvironment): Promise<void> {
  const { nodes, store } = environment;
  for (const { server } of nodes) tell(environment, "SERVER_RESTARTED", server.pid);
  await Promise.all(nodes.map(({ server }) => server.stop()));
  const env = { ...process.env, MAINSPRING_STORE: store.url };
  const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, "store", "move-schema"], { env });
  environment.say(stdout.trim());
  for (const { server } of nodes) server.start();
  for (const { server } of nodes) {
    await server.ready();
    note(environment, "SERVER_READY", server.pid);
  }
  await everythingIsInPlace(environment);
}

async function levelOf({ client }: ClusterEnvironment): Promise<number> {
  return (await client.cluster.status()).level;
}

async function schemaOf({ store }: ClusterEnvironment): Promise<string> {
  return await store.sql("SELECT relnamespace::regnamespace FROM pg_class WHERE relname = 'shards' AND relkind = 'r'");
}
