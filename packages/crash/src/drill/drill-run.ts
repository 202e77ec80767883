import { monotonicMs, sleep, until } from "../clock.ts";
import { note, tell } from "../faults/cluster/nodes.ts";
import type { Node } from "../faults/world.ts";
import { judge, type Verdict } from "../judge/judge.ts";
import { play, type Report, type Telling } from "../play.ts";
import { settle } from "../settle.ts";
import { type ClusterStage, openCluster } from "../stage/cluster.ts";
import { warmUp } from "../warm-up.ts";
import { type Deed, type Done, drillFigures } from "./drill-figures.ts";

export interface DrillOptions extends Telling {
  /** How often each is done, to one node after the other. */
  times: Partial<Record<Deed, number>>;
}

const NODES = 3;
/** Long enough for what follows to be over. */
const WATCHED_MS = 5_000;
const STOPPED_MS = 7_000;
const CALM_WITHIN_MS = 90_000;
const CALM_MS = 1_000;
const SHARDS = 64;
const DEMANDED = { KILL: "SERVER_KILLED", STOP: "SERVER_STOPPED", RESTART: "SERVER_RESTARTED" } as const;

/**
 * Does the same to one node of a cluster after the other, under a steady load of small jobs, and measures what becomes of
 * the work. Nothing may be lost, fail or run twice: neither workers nor links are touched.
 * @throws {Error} something did not come back in time; the message names the folder with the logs
 */
export function drillRun({ times, ...telling }: DrillOptions): Promise<Report> {
  return play("drill", telling, async (ground) => {
    const stage = await openCluster({ ...ground, nodes: NODES, clients: "steady" });
    try {
      await warmUp(stage);
      stage.say("under load");
      return await runOn(stage, times);
    } finally {
      await stage.close();
    }
  });
}

async function runOn(stage: ClusterStage, times: DrillOptions["times"]): Promise<Verdict> {
  const incidents: Done[] = [];
  const deeds = (Object.entries(times) as [Deed, number][]).filter(([, count]) => count > 0);
  for (const [deed, count] of deeds) {
    for (let turn = 0; turn < count; turn++) {
      await everythingIsInPlace(stage);
      incidents.push(await perform(stage, deed, stage.nodes[turn % NODES] as Node));
    }
  }
  const demanded = Object.fromEntries(deeds.map(([deed, count]) => [DEMANDED[deed], count]));
  const evidence = await settle(stage, demanded);
  const { violations, figures } = judge(evidence, "drill");
  return { violations, figures: { ...figures, ...(await drillFigures(stage, evidence, incidents)) } };
}

async function perform(stage: ClusterStage, deed: Deed, node: Node): Promise<Done> {
  const { server } = node;
  const shards = await shardsOf(stage, node);
  const done = { deed, atMs: monotonicMs(), shards };
  tell(stage, DEMANDED[deed], server.pid);
  if (deed === "STOP") {
    server.signal("SIGSTOP");
    await sleep(STOPPED_MS);
    note(stage, "SERVER_CONTINUED", server.pid);
    server.signal("SIGCONT");
  } else {
    await (deed === "KILL" ? server.kill() : server.stop());
    await sleep(Math.max(0, done.atMs + WATCHED_MS - monotonicMs()));
    server.start();
  }
  await server.ready();
  note(stage, "SERVER_READY", server.pid);
  return done;
}

/** Every node has its share, and has had it for a moment. */
async function everythingIsInPlace({ store }: ClusterStage): Promise<void> {
  // All but one may have as many as there may be.
  const share = SHARDS - (NODES - 1) * Math.ceil(SHARDS / NODES);
  await until("every node has its share of the shards", CALM_WITHIN_MS, async () => {
    const owners = await store.sql("SELECT owner, count(*) FROM shards GROUP BY owner");
    const counts = owners.split("\n").map((line) => Number(line.split("|")[1]));
    return counts.length === NODES && counts.every((count) => count >= share) ? true : null;
  });
  await sleep(CALM_MS);
}

async function shardsOf({ store }: ClusterStage, { address }: Node): Promise<ReadonlySet<number>> {
  const rows = await store.sql(
    `SELECT s.id FROM shards s JOIN nodes n ON n.incarnation = s.owner WHERE n.name = '${address}'`,
  );
  return new Set(rows.split("\n").map(Number));
}
