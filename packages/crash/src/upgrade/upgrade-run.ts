import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { sleep, until } from "../clock.ts";
import { DEEDS, OUTAGE_MS } from "../drill/deeds.ts";
import { everythingIsInPlace } from "../drill/drill-run.ts";
import { note, tell } from "../faults/cluster/nodes.ts";
import { judge } from "../judge/judge.ts";
import { type Outcome, play, type Report, type Telling } from "../play.ts";
import { settle } from "../settle.ts";
import { type ClusterStage, openCluster } from "../stage/cluster.ts";
import { unpackRelease } from "../stage/release.ts";
import { COMMAND } from "../stage/server.ts";
import { warmUp } from "../warm-up.ts";

interface UpgradeOptions extends Telling {
  /** Commit of the release to begin with. */
  from: string;
  /** Jobs a second of each of the two clients. */
  rate: number;
  /** How long the load goes on between two steps. */
  betweenMs: number;
}

const NODES = 3;
const SAME_LEVEL_WITHIN_MS = 60_000;

/**
 * Upgrades a cluster under load: one node after the other, its workers too, and then its store, which moves to its own schema while all
 * nodes are stopped. Nothing may be lost, fail or run twice.
 * @throws {Error} something did not come back in time; the message names the folder with the logs
 */
export function upgradeRun({ from, rate, betweenMs, ...telling }: UpgradeOptions): Promise<Report> {
  return play("upgrade", telling, async (ground) => {
    const release = await unpackRelease(from, join(ground.folder, "release"));
    const stage = await openCluster({ ...ground, nodes: NODES, steadyRate: rate, release });
    try {
      await warmUp(stage);
      stage.say("under load");
      return await upgraded(stage, betweenMs);
    } finally {
      await stage.close();
    }
  });
}

async function upgraded(stage: ClusterStage, betweenMs: number): Promise<Outcome> {
  await everythingIsInPlace(stage);
  const levels = [await levelOf(stage)];
  for (const node of stage.nodes) {
    node.server.upgrade();
    await DEEDS.RESTART.perform(stage, node, OUTAGE_MS);
    await everythingIsInPlace(stage);
    levels.push(await levelOf(stage));
    await sleep(betweenMs);
  }
  stage.say(`feature level of the cluster: ${levels.join(", ")}`);
  await until("the cluster has one level", SAME_LEVEL_WITHIN_MS, async () =>
    (await levelOf(stage)) > (levels[0] ?? 0) ? true : null,
  );
  const schemas = [await schemaOf(stage)];
  await moveStore(stage);
  schemas.push(await schemaOf(stage));
  await sleep(betweenMs);
  stage.say(`schema of the store: ${schemas.join(", ")}`);
  const { violations, figures } = judge(await settle(stage, { SERVER_RESTARTED: 2 * NODES }, null), "drill");
  const isMoved = schemas.join() === "public,mainspring";
  const rule = "a store stays where it is until it is moved";
  const stray = isMoved ? [] : [{ rule, what: `the store was in ${schemas.join(", then in ")}` }];
  return { violations: [...violations, ...stray], figures };
}

/** Stops all nodes, moves the store, and starts them again. Workers and clients go on. */
async function moveStore(stage: ClusterStage): Promise<void> {
  const { nodes, store } = stage;
  for (const { server } of nodes) tell(stage, "SERVER_RESTARTED", server.pid);
  await Promise.all(nodes.map(({ server }) => server.stop()));
  const env = { ...process.env, MAINSPRING_STORE: store.url };
  const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, "store", "move-schema"], { env });
  stage.say(stdout.trim());
  for (const { server } of nodes) server.start();
  for (const { server } of nodes) {
    await server.ready();
    note(stage, "SERVER_READY", server.pid);
  }
  await everythingIsInPlace(stage);
}

async function levelOf({ client }: ClusterStage): Promise<number> {
  return (await client.cluster.status()).level;
}

async function schemaOf({ store }: ClusterStage): Promise<string> {
  return await store.sql("SELECT relnamespace::regnamespace FROM pg_class WHERE relname = 'shards' AND relkind = 'r'");
}
